"""A reader of HTML pages for tests: their links, labels, headings and text."""

from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "hr", "img"}


class Reader(HTMLParser):
    """The content of a page.

    Attributes:
        links: (attributes, text) of each ``a``.
        rows: the texts of the cells of each row of a table.
        tags: (name, attributes) of each element, in order.
        text: the text of the whole page.
        by_id: the text of each element that has an id.
    """

    def __init__(self, html):
        super().__init__()
        self.links, self.tags, self.by_id = [], [], {}
        self.rows = []
        self._open = []
        self.feed(html)
        self.close()
        assert not self._open, f"not closed: {self._open}"
        self.text = self.by_id.get(None, "")

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if tag == "tr":
            self.rows.append([])
        if tag not in VOID:
            self._open.append((tag, attributes, []))

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        opened, attributes, texts = self._open.pop()
        assert opened == tag, f"</{tag}> closes <{opened}>"
        text = "".join(texts)
        if self._open:
            self._open[-1][2].append(text)
        else:
            self.by_id[None] = text
        if tag in ("th", "td"):
            self.rows[-1].append(text)
        if tag == "a":
            self.links.append((attributes, text))
        if "id" in attributes:
            self.by_id[attributes["id"]] = " ".join(text.split())

    def handle_data(self, data):
        if self._open:
            self._open[-1][2].append(data)

    @property
    def cells(self):
        """The links on cells: (href, label) by cell."""
        return {
            int(attributes["data-cell"]): (attributes["href"], attributes["aria-label"])
            for attributes, _ in self.links
            if "data-cell" in attributes
        }

    @property
    def moves(self):
        """The addresses in the list of moves, by name."""
        return {text: each["href"] for each, text in self.links if "data-move" in each}

    @property
    def labels(self):
        """The labels of the marks."""
        return [each["aria-label"] for tag, each in self.tags if tag == "g" and each.get("role")]

    def tools(self):
        """The links that a key follows, by key."""
        return {each["data-key"]: each["href"] for each, _ in self.links if "data-key" in each}

    def tiles(self):
        """The addresses of the little boards."""
        return [each["href"] for each, _ in self.links if each.get("class") == "gs-tile"]
