"""The questions of docs/guides/sql.md: {number: (file, SQL, printed table)}."""

import re

from conftest import ROOT

TEXT = (ROOT / "docs" / "guides" / "sql.md").read_text()
RECIPE = re.compile(r"^### (\d+)\. .*?```sql\n(.*?)```\n\n```text\n(.*?)```", re.S | re.M)
RECIPES = {
    int(number): (file, sql, printed)
    for file, part in re.findall(r"<!-- file: (\S+) -->\n(.*?)(?=^## |\Z)", TEXT, re.S | re.M)
    for number, sql, printed in RECIPE.findall(part)
}
