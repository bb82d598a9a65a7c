"""The site of the documents: `sphinx-build -W -c docs . site` in the root of a checkout builds it.

The whole checkout is the source, so every link between files works here as it does on GitHub.
"""

from pathlib import Path
from typing import Any

project = "graphstore"
extensions = ["myst_parser"]
include_patterns = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**.md"]
root_doc = "docs/index"
html_theme = "furo"
html_title = "graphstore"
html_copy_source = False
html_show_copyright = False
myst_heading_anchors = 4  # the headings have the anchors that GitHub gives them
smartquotes = False  # or -- before an option would be a dash


def setup(app: Any) -> None:
    """Write index.html, where a server looks first; it leads to the first page."""
    page = '<!doctype html><meta http-equiv="refresh" content="0; url=docs/index.html">\n'
    app.connect("build-finished", lambda *_: Path(app.outdir, "index.html").write_text(page))
