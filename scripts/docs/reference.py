"""Writes the three pages of docs/reference that follow from the code: columns, commands, python.

With --check it writes nothing, and exits with 1 if a page is out of date. Signatures and docstrings
are read from the source, so that every version of Python writes the same text.
"""

import argparse
import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import click
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

import graphstore
import graphstore.store.lookup  # `Store` imports it only for a look-up
from graphstore import errors
from graphstore.cli.main import cli
from graphstore.errors import GraphstoreError
from graphstore.store import meanings, schema
from graphstore.store.folder.sql import VIEWS as FOLDER_VIEWS

PAGES: Final = Path(__file__).resolve().parents[2] / "docs" / "reference"
NOTE: Final = "<!-- Written by scripts/docs/reference.py: change the code, then run it again. -->"

EXTRA_TURNS: Final = """\
A move keeps the turn if `to_move` is not NULL and the same before and after it. Then:

- The player who just moved, in the columns of `state`, is the opponent of the player to move.
- Such a move is worth `value` of its child to its player, not `-value`. The views `best_move`,
  `q_table` and `matchbox`, and the table that `show` prints, have all numbers for the player who
  makes the move: `score` of the child is negated (in a draw: the share of that player's own next
  moves that lose), and `win_depth` and `lose_depth` change places.
- `remoteness` counts all moves: the winner takes the fewest in all, the loser makes it the most.
  `win_depth` and `lose_depth` count the winner's own moves on such a line. Of lines of one length,
  the winner chooses one with the fewest moves of his own, the loser one with the most of the
  winner's.

In SQL a move is worth
`CASE WHEN parent.to_move = child.to_move THEN child.value ELSE -child.value END`."""


def columns_page() -> str:
    """Return the page of the tables, views and columns."""
    parts = [
        "# Tables, views and columns",
        NOTE,
        "This page answers: what does each column hold, and for which player?",
        "A game is one SQLite file, or one schema of a PostgreSQL database. Both have these tables "
        "and views. The types are those of Parquet files; [below](#types) are those of databases.",
        f"Two perspectives: `value` and `random_value` are **{meanings.MOVER}**; `score`, "
        f"`win_depth`, `lose_depth` and `best_response` are **{meanings.MOVED}**, because they "
        "describe the state as a move.",
    ]
    for kind, names in (("Table", schema.metadata.tables), ("View", schema.VIEWS)):
        for name in (each for each in meanings.TABLES if each in names):
            parts += [f"## {kind} `{name}`", meanings.TABLES[name], _columns(name)]
    columns = [column for table in schema.metadata.tables.values() for column in table.c]
    dialects = (sqlite.dialect(), postgresql.dialect())  # type: ignore[no-untyped-call]
    types = {}
    for column in columns:
        kinds = (str(column.type.compile(dialect=each)).split(" COLL")[0] for each in dialects)
        types[schema.cell_type(column)] = tuple(kinds)
    parts += [
        "## Moves that keep the turn",
        EXTRA_TURNS,
        "## Types",
        _table(("Parquet", "SQLite", "PostgreSQL"), [(key, *types[key]) for key in sorted(types)]),
        "SQLite stores a bool as 0 or 1. Both databases compare texts byte by byte.",
        f"A game in parts is a folder: {_names(schema.STORED)} as Parquet files without "
        f"{_names(column.name for column in columns if column.computed)}, and the row of `game`, "
        "the names of moves and the digests in `game.json`. `graphstore sql FOLDER` has them as "
        f"tables with all columns, and the views {_names(FOLDER_VIEWS)}.",
    ]
    return _page(parts)


def _columns(table: str) -> str:
    """Return the columns of a table or view; those of a view refer to the same ones of tables."""
    view = schema.VIEWS.get(table)
    rows = []
    for column in schema.metadata.tables[table].c if view is None else view.selected_columns:
        kind, meaning = schema.cell_type(column), meanings.meaning(table, column.name)
        (base, *_) = column.base_columns
        turned = not isinstance(base, sa.Column)  # where the move keeps the turn
        base = schema.state.c.get(column.name, base) if turned else base
        if isinstance(base, sa.Column):
            kind += " or NULL" if base.nullable else ""
            if view is None:
                kind += ", key" if base.primary_key else ""
            elif meaning == meanings.meaning(base.table.name, base.name):
                meaning = f"as `{base.table.name}.{base.name}`"
                meaning += ", for the player of the move" * turned
        meaning = re.sub(r"(player (?:to move|who \w+ \w+))", r"**\1**", meaning)
        rows.append((f"`{column.name}`", kind, meaning))
    return _table(("column", "type", "meaning"), rows)


def commands_page() -> str:
    """Return the page of the commands, their arguments and options."""
    parts = [
        "# Commands",
        NOTE,
        "This page answers: which commands are there, and what are their arguments and options?",
        "Rows go to standard output, folded to the width of a terminal; messages and "
        "progress to standard error. The exit code is 0 after success, 1 after an error, 2 after "
        "wrong usage, 130 after Ctrl-C. "
        "`graphstore COMMAND -h` prints the help of a command, `graphstore --version` the version.",
    ]
    whole = click.Context(cli, **cli.context_settings)  # click keeps the names of -h from it
    for name, command in cli.commands.items():
        if not command.help:
            raise ValueError(f"no description: command {name}")
        context, options = click.Context(command, parent=whole, info_name=name), []
        for option in (each for each in command.params if isinstance(each, click.Option)):
            words, text = option.get_help_record(context) or ("", "")
            if not option.help:
                raise ValueError(f"no description: option {words} of {name}")
            options.append(f"`{words}`: {_joined(text)}")
        usage = " ".join(command.collect_usage_pieces(context))
        parts += [f"## {name}", f"`graphstore {name} {usage}`"]
        parts += [*map(_joined, command.help.split("\n\n")), _list(options)]
    return _page(parts)


def python_page() -> str:
    """Return the page of the public names: signatures, descriptions and errors."""
    named = [getattr(graphstore, name) for name in sorted(graphstore.__all__)]
    classes = [each for each in named if isinstance(each, type) and not _is_error(each)]
    parts = [
        "# Python",
        NOTE,
        "This page answers: what can I call, what does it return, and what does it raise?",
        "`import graphstore` gives the functions and classes below. `help(graphstore.draw)` prints "
        "the whole docstring of a name: every argument, an example, and when each error is raised.",
        "`Ints`, `Rows` and `Codes` are arrays of int64, int32 and int8. `Address` is a file, "
        "or the URL of a database. `progress` is called with the phase, how much is done, and the "
        "total or None.",
        "## Functions",
    ]
    for each in (each for each in named if not isinstance(each, type)):
        (about, *others), call = _described(_node(each)), _signature(_node(each), each)
        parts += [f"### {each.__name__}", _block(call), about]
        parts += [other for other in others if other.startswith("Raises")]
    parts.append("## Classes")
    for each in classes:
        parts += [f"### {each.__name__}", *_class(each)]
    public = [each.__name__ for each in named if _is_error(each)]
    raised = [each for each in vars(errors).values() if _is_error(each)]
    parts += [
        "## Results and options",
        "Other classes that functions and methods return or take, and their fields or methods.",
        _list(_results("\n".join(parts), classes)),
        "## Errors",
        f"They are in `graphstore.errors`, {_names(public)} also in `graphstore`. All extend "
        "`GraphstoreError`; in brackets are the other classes that an error extends.",
        _list(f"`{each.__name__}`{_bases(each)}: {_described(_node(each))[0]}" for each in raised),
    ]
    return _page(parts)


def _is_error(thing: Any) -> bool:
    return isinstance(thing, type) and issubclass(thing, Exception)


def _bases(error: type) -> str:
    names = [base.__name__ for base in error.__bases__ if base is not GraphstoreError]
    return f" ({', '.join(names)})" if names else ""


def _results(page: str, known: list[type]) -> Iterator[str]:
    """Yield an item for each further class of this package that signatures name."""
    others = re.compile(r"graphstore\.(?!games|web|cli)")
    modules = [each for each in sorted(sys.modules) if others.match(each)]
    found = {name: thing for each in modules for name, thing in vars(sys.modules[each]).items()}
    annotations = " ".join(re.findall(r"(?:-> |Unpack\[)([^`\n]*)", page))
    for name in dict.fromkeys(re.findall(r"[A-Z]\w+", annotations)):
        of = found.get(name)
        if inspect.isclass(of) and of.__module__.startswith("graphstore") and of not in known:
            yield f"`{name}`: {_described(_node(of))[0]} {_names(_fields(of) or _methods(of))}"


def _node(thing: Any) -> Any:
    """Return the definition of a class or a function in its source, the one after overloads."""
    body = ast.parse(Path(inspect.getsourcefile(thing) or "").read_text(encoding="utf-8")).body
    return [node for node in body if getattr(node, "name", "") == thing.__name__][-1]


def _described(node: Any) -> list[str]:
    """Return the paragraphs of a docstring without examples, its attributes and errors."""
    text = ast.get_docstring(node)
    if not text:
        raise ValueError(f"no description: Python name {node.name}, line {node.lineno}")
    text, *sections = re.split(r"\n\n(?=[A-Z]\w+:\n)", text.replace("``", "`"))
    parts = [_joined(part) for part in text.split("\n\n") if not part.startswith(">>>")]
    for section in sections:
        items = re.findall(r"^    (\w.*?): (.*)", section, re.M)
        if section.startswith("Attributes:"):
            parts.append(_list(f"`{name}`: {meaning}" for name, meaning in items))
        if section.startswith("Raises:"):
            parts.append(f"Raises {_names(', '.join(name for name, _ in items).split(', '))}.")
    return parts


def _signature(node: Any, of: Any, *, types: bool = True) -> str:
    """Return how a function, or a method of the class `of`, is called, with values for names."""
    module = vars(sys.modules[of.__module__])
    for each in ast.walk(node.args):
        if isinstance(each, ast.arg) and not types:
            each.annotation = None
    words = re.sub(r"^(self|cls)(, )?", "", ast.unparse(node.args))
    words = re.sub(r"(?<==)[A-Z_]{2,}\b", lambda name: repr(module[name[0]]), words)
    words = re.sub(r"(: [^=]*?)=", r"\1 = ", words)
    name, result = node.name, f" -> {ast.unparse(node.returns)}".replace("'", "")
    whole = f"{of.__name__}({words})" if name == "__init__" else f"{name}({words}){result}"
    return re.sub(r"\b[a-z_]+\.(?=[A-Z])", "", whole)


def _class(of: type) -> Iterator[str]:
    """Yield the parts of a class: how it is called, its docstring, fields and methods."""
    begin = _members(of).get("__init__")
    if begin and ast.get_docstring(begin):
        yield _block(_signature(begin, of))
        yield from _described(_node(of)) + _described(begin)[1:]
    else:
        yield from _described(_node(of))
    if fields := _fields(of):
        yield f"Fields: {_names(fields)}."
    items = []
    for name, node in _methods(of).items():
        is_property = any("property" in ast.unparse(each) for each in node.decorator_list)
        use = name if is_property else _signature(node, of, types=False)
        items.append(f"`{use}`: {_described(node)[0].removeprefix('Return ')}")
    yield _list(items)


def _members(of: type) -> dict[str, Any]:
    """Return the definitions in a class and its bases of this package, by name."""
    bases = [_node(each).body for each in of.__mro__ if each.__module__.startswith("graphstore")]
    return {getattr(node, "name", ""): node for body in reversed(bases) for node in body}


def _methods(of: type) -> dict[str, Any]:
    """Return the public methods and properties, but those that only refer to another class."""
    public = {name: node for name, node in _members(of).items() if name[:1] not in ("", "_")}
    methods = {name: node for name, node in public.items() if isinstance(node, ast.FunctionDef)}
    return {n: node for n, node in methods.items() if not _described(node)[0].startswith("See ")}


def _fields(of: type) -> list[str]:
    bases = [each for each in reversed(of.__mro__) if each is of or each.__name__[0] == "_"]
    body = [node for each in bases for node in _node(each).body]
    fields = [ast.unparse(node.target) for node in body if isinstance(node, ast.AnnAssign)]
    return [field for field in fields if not field.startswith("_")]


# Markdown


def _joined(text: str) -> str:
    return " ".join(text.split())


def _block(signature: str) -> str:
    """Return a signature as a block, broken between arguments."""
    whole = re.sub(r"(?<=[:=|>]) | (?=[=|-])", "\0", signature)
    lines = textwrap.wrap(whole, 88, subsequent_indent="    ", break_on_hyphens=False)
    return "```python\n" + "\n".join(lines).replace("\0", " ") + "\n```"


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _page(parts: list[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def main() -> None:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if old")
    check = parser.parse_args().check
    for page in (columns_page, commands_page, python_page):
        file, text = PAGES / page.__name__.replace("_page", ".md"), page()
        if not check:
            file.write_text(text, encoding="utf-8")
        elif file.read_text(encoding="utf-8") != text:
            sys.exit(f"{file.name} is out of date; run: python scripts/docs/reference.py")


if __name__ == "__main__":
    main()
