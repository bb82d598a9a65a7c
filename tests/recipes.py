"""The questions of docs/cookbook.md: {number: (file, SQL, printed table)}."""

import re

from conftest import ROOT

TEXT = (ROOT / "docs" / "cookbook.md").read_text()
RECIPE = re.compile(r"^### (\d+)\. .*?```sql\n(.*?)```\n\n```text\n(.*?)```", re.S | re.M)
RECIPES = {
    int(number): (file, sql, printed)
    for file, part in re.findall(r"<!-- file: (\S+) -->\n(.*?)(?=^## |\Z)", TEXT, re.S | re.M)
    for number, sql, printed in RECIPE.findall(part)
}
