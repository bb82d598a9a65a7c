"""Tokens of SQL text, in the dialect of SQLite, PostgreSQL or DuckDB."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from graphstore.errors import QueryError

_LETTER = r"A-Za-z_\u0080-\U0010ffff"
_STRING = r"'(?:[^']|'')*+(?:'|\Z)"
_NAME = r'"(?:[^"]|"")*+(?:"|\Z)'
_BACKTICKS = r"`(?:[^`]|``)*+(?:`|\Z)"
_BRACKETS = r"\[[^]]*(?:\]|\Z)"
_DOLLARS = rf"\$(?P<tag>(?:[{_LETTER}][{_LETTER}\d]*)?)\$.*?(?:\$(?P=tag)\$|\Z)"
_ESCAPED = r"'(?:[^'\\]|\\.|'')*+(?:'|\Z)"
_LINE_BREAK = r"(?:[ \t\f\v]|--[^\n\r]*)*+[\n\r](?:\s|--[^\n\r]*[\n\r])*+"
_QUOTED: Final = {
    "sqlite": (_STRING, _NAME, _BACKTICKS, _BRACKETS),
    "postgresql": (_STRING, _NAME, _DOLLARS, rf"[eE]{_ESCAPED}(?:{_LINE_BREAK}{_ESCAPED})*+"),
    "duckdb": (_STRING, _NAME, _BACKTICKS, _DOLLARS, rf"[eE]{_ESCAPED}"),
}
_FLAT = r"--[^\n]*|/\*.*?(?:\*/|\Z)"  # comments of SQLite
_NESTED = r"--[^\n\r]*|/\*"  # of the others; see `_end_of_comment`
_TOKENS: Final = {
    dialect: re.compile(
        rf"(?P<space>\s+|{_FLAT if dialect == 'sqlite' else _NESTED})"
        rf"|(?P<quoted>{'|'.join(forms)})"
        rf"|(?P<word>[{_LETTER}][{_LETTER}\d$]*|\d+)"
        r"|(?P<mark>\?|:[A-Za-z_]\w*)"
        r"|(?P<sign>::|:=|.)",
        re.DOTALL,
    )
    for dialect, forms in _QUOTED.items()
}


class Token(NamedTuple):
    """A token of SQL: its kind and its text."""

    kind: str  # space (or comment), quoted, word (or number), mark (a parameter) or sign
    text: str


def tokens(sql: str, dialect: str) -> Iterator[Token]:
    """Yield the tokens of a text, without gaps; an open quote reaches to the end of the text.

    >>> [token.text for token in tokens("id=$$)$$ /* /* */ ) */", "postgresql")]
    ['id', '=', '$$)$$', ' ', '/* /* */ ) */']
    """
    at = 0
    while found := _TOKENS[dialect].match(sql, at):
        kind, end = str(found.lastgroup), found.end()
        if found[0] == "/*":
            end = _end_of_comment(sql, end)
        yield Token(kind, sql[at:end])
        at = end


def is_empty(sql: str, dialect: str) -> bool:
    """Return whether a text has nothing to run, such as comments only."""
    return all(token.kind == "space" or token.text == ";" for token in tokens(sql, dialect))


def closes_too_much(sql: str, dialect: str) -> bool:
    """Return whether a text closes a parenthesis that it has not opened."""
    depth = 0
    for _, text in tokens(sql, dialect):
        depth += (text == "(") - (text == ")")
        if depth < 0:
            return True
    return False


def numbered(
    statement: str, parameters: Sequence[Any] | Mapping[str, Any], dialect: str
) -> tuple[str, list[Any] | None]:
    """Return a statement with ``$1`` for each ``?`` or ``:name``, and the values to bind.

    Without parameters the statement is returned unchanged.

    >>> numbered("SELECT ':x', ply::text FROM state WHERE ply = :x", {"x": 1}, "postgresql")
    ("SELECT ':x', ply::text FROM state WHERE ply = $1", [1])
    """
    if not parameters:
        return statement, None
    named = isinstance(parameters, Mapping)
    numbers: dict[Any, int] = {}  # by name or index of a parameter
    typed = []
    for kind, text in tokens(statement, dialect):
        if kind == "mark" and named == (text != "?"):
            key = text[1:] if named else len(numbers)
            text = f"${numbers.setdefault(key, len(numbers) + 1)}"
        typed.append(text)
    missing = [key for key in numbers if named and key not in parameters]
    if missing:
        raise QueryError(f"SQL: there is no parameter for :{missing[0]}")
    if not named and len(numbers) != len(parameters):
        raise QueryError(
            f"SQL: the statement has {len(numbers)} ? for {len(parameters)} parameters"
        )
    return "".join(typed), [parameters[key] for key in numbers]


def _end_of_comment(sql: str, at: int) -> int:
    """Return the end of the nested comment whose ``/*`` ends at the offset `at`."""
    depth = 1
    for found in re.compile(r"/\*|\*/").finditer(sql, at):
        depth += 1 if found[0] == "/*" else -1
        if not depth:
            return found.end()
    return len(sql)
