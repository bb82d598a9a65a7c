"""The project uses plain words: none of some phrases that read as riddles."""

import re

from conftest import ROOT

RIDDLES = re.compile(
    r'"{3}(?:What|How|Whose|Where|Whether|That|Those) '
    r"|(?<!there )\bis no (?!longer|larger|smaller|more|less|other)"
    r"|\banew\b|\bwhoever\b|\bstrangers?\b|\bnor can\b|\ba person who\b|\bfor ever\b"
)


def test_no_text_is_a_riddle():
    places = [ROOT / name for name in ("graphstore", "migrations", "scripts", "docs", "tests")]
    files = [*ROOT.glob("*.md"), *(file for place in places for file in place.rglob("*.*"))]
    texts = {file: file.read_text() for file in files if file.suffix in (".py", ".md", ".html")}
    found = {f"{file.name}: {each[0]}" for file in texts for each in RIDDLES.finditer(texts[file])}
    assert found == set()
