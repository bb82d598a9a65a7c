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
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import click
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

import graphstore
from graphstore import errors
from graphstore.cli.main import cli
from graphstore.errors import GraphstoreError
from graphstore.store import meanings, schema
from graphstore.store.folder.sql import VIEWS as FOLDER_VIEWS

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = ROOT / "docs" / "reference"
COMMON: Final = 3  # an option that so many commands share is described once
NOTE: Final = "<!-- Written by scripts/docs/reference.py: change the code, then run it again. -->"

Function = ast.FunctionDef


class UndescribedError(Exception):
    """A table, column, command, option or public name that has no description."""


# Columns


def columns_page() -> str:
    """Return the page of the tables, views and columns."""
    lines = [
        "# Tables, views and columns",
        NOTE,
        "This page answers: what does each column hold, and for which player?",
        "A game is one SQLite file, or one schema of a PostgreSQL database. Both have these tables "
        "and views. Types are those of SQLite; [the types elsewhere](#types-in-postgresql-and-"
        "parquet) come last.",
        f"Two perspectives: `value` and `random_value` are **{meanings.MOVER}**; `score`, "
        f"`win_depth`, `lose_depth` and `best_response` are **{meanings.MOVED}**, because they "
        "describe the state as a move.",
    ]
    for kind, names in (("Table", schema.metadata.tables), ("View", schema.VIEWS)):
        for name in (each for each in meanings.TABLES if each in names):
            lines += [f"## {kind} `{name}`", meanings.TABLES[name], _columns_of(name)]
    return _page([*lines, *_other_types(), *_revisions()])


def _columns_of(table: str) -> str:
    """Return the columns of a table or view as a Markdown table.

    A column of a view that means what a column of a table means refers to that.
    """
    view = schema.VIEWS.get(table)
    rows = []
    for column in schema.metadata.tables[table].c if view is None else view.selected_columns:
        kind = {"float64": "REAL", "string": "TEXT"}.get(schema.cell_type(column), "INTEGER")
        meaning = _meaning(table, column.name)
        (base, *_) = column.base_columns
        if isinstance(base, sa.Column):
            kind += " or NULL" if base.nullable else ""
            if view is not None and _meaning(base.table.name, base.name) == meaning:
                meaning = f"as `{base.table.name}.{base.name}`"
            elif view is None:
                kind += ", key" if base.primary_key else ""
        meaning = re.sub(r"(player (?:to move|who \w+ \w+))", r"**\1**", meaning)
        rows.append((f"`{column.name}`", kind, meaning))
    return _table(("column", "type", "meaning"), rows)


def _meaning(table: str, column: str) -> str:
    try:
        return meanings.meaning(table, column)
    except KeyError:
        raise UndescribedError(f"column {table}.{column}") from None


def _other_types() -> list[str]:
    kinds: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for name, of in schema.metadata.tables.items():
        for column in of.c:
            dialects = (sqlite.dialect(), postgresql.dialect())  # type: ignore[no-untyped-call]
            here, there = (str(column.type.compile(dialect=each)) for each in dialects)
            kind = (here, there.split(" COLLATE")[0].lower(), schema.cell_type(column))
            kinds.setdefault(kind, {}).setdefault(name, []).append(column.name)
    rows = [
        (*kind, "; ".join(f"{name}: {_names(names)}" for name, names in tables.items()))
        for kind, tables in sorted(kinds.items())
    ]
    computed = [
        each.name for of in schema.metadata.tables.values() for each in of.c if each.computed
    ]
    return [
        "## Types in PostgreSQL and Parquet",
        "PostgreSQL compares texts byte by byte, as SQLite does. SQLite stores a truth as 0 or 1.",
        f"A folder has {_names([*schema.STORED])} as Parquet files without {_names(computed)}, and "
        "the row of `game` and the digests in `game.json`. `graphstore sql FOLDER` has them as "
        f"tables, with all columns, and the views {_names([*FOLDER_VIEWS])}.",
        _table(("SQLite", "PostgreSQL", "Parquet", "columns"), rows),
    ]


def _revisions() -> list[str]:
    rows = []
    for file in sorted((ROOT / "migrations" / "versions").glob("*.py")):
        rows.append(
            (file.stem[:4], (ast.get_docstring(ast.parse(file.read_text())) or "").splitlines()[0])
        )
    return [
        "## Revisions of the schema",
        "The table `alembic_version` holds the revision. `graphstore upgrade` applies those that a "
        "database lacks.",
        _table(("revision", "what it adds"), rows),
    ]


# Commands


def commands_page() -> str:
    """Return the page of the commands, their arguments and options."""
    commands = {name: click.Context(each, info_name=name) for name, each in cli.commands.items()}
    records = Counter(record for context in commands.values() for record in _records(context))
    common = {record for record, count in records.items() if count >= COMMON}
    lines = [
        "# Commands",
        NOTE,
        "This page answers: which commands are there, and what are their arguments and options?",
        "Rows go to standard output, messages and progress to standard error. The exit code is 0 "
        "after success, 1 after an error, 2 after wrong usage, 130 after Ctrl-C. "
        "`graphstore COMMAND -h` prints the help of a command, `graphstore --version` the version.",
        "## Common options",
        _list(
            f"`{option}`: {_marked(text)}" for option, text in records if (option, text) in common
        ),
    ]
    for name, context in commands.items():
        own = [record for record in _records(context) if record not in common]
        shared = [f"`{record[0].split()[0]}`" for record in _records(context) if record in common]
        options = [f"`{option}`: {_marked(text)}" for option, text in own]
        if shared:
            options.append(f"[Common](#common-options): {', '.join(shared)}")
        usage = " ".join(context.command.collect_usage_pieces(context))
        lines += [f"## {name}", f"`graphstore {name} {usage}`"]
        lines += [_marked(text) for text in _help(context.command).split("\n\n")]
        lines.append(_list(options))
    return _page(lines)


def _help(command: click.Command) -> str:
    if not command.help:
        raise UndescribedError(f"command {command.name}")
    return inspect.cleandoc(command.help)


def _records(context: click.Context) -> Iterator[tuple[str, str]]:
    """Yield the options of a command but --help, and their descriptions."""
    for parameter in context.command.params:
        if isinstance(parameter, click.Option):
            option, text = parameter.get_help_record(context) or ("", "")
            if not parameter.help:
                raise UndescribedError(f"option {option} of {context.info_name}")
            yield option, " ".join(text.split())


def _marked(text: str) -> str:
    """Return a paragraph of a help in Markdown: options as code, ranges in words.

    The lines of a paragraph that begins with a backspace are to stay as they are.
    """
    if text.startswith("\b\n"):
        return f"```text\n{text[2:]}\n```"
    text = re.sub(r"default: \((.*?)\)(?=[;\]])", r"default: \1", " ".join(text.split()))
    text = re.sub(r"x>=(\d+)", r"at least \1", text)
    text = re.sub(r"(\d+)<=x<=(\d+)", r"\1 to \2", text)
    text = re.sub(r"(\d+)<x<(\d+)", r"between \1 and \2", text)
    return _text(text, code=r"(?<![\w-])--[a-z-]*[a-z]")


# Python


def python_page() -> str:
    """Return the page of the public names, what they return and what they raise."""
    named = {name: getattr(graphstore, name) for name in sorted(graphstore.__all__)}
    own_errors = [name for name, thing in named.items() if _is_error(thing)]
    classes = [of for of in named.values() if isinstance(of, type) and not _is_error(of)]
    functions = [each for each in named.values() if not isinstance(each, type)]
    lines = [
        "# Python",
        NOTE,
        "This page answers: what can I call, what does it return, and what does it raise?",
        "`import graphstore` gives the functions and classes below. `Ints`, `Rows` and `Codes` are "
        "arrays of int64, int32 and int8. `progress` is called with the phase and how far it is. "
        "`help(graphstore.draw)` prints the whole docstring, with an example and what is raised.",
        "## Functions",
    ]
    for function in functions:
        node = _node(function)
        lines += [f"### {node.name}", _code(_signature(node, function)), *_described(node)]
    lines.append("## Classes")
    for of in classes:
        lines += [f"### {of.__name__}", *_class(of)]
    lines += [
        "## Results and options",
        "The classes that the functions and methods above return or take, and their fields.",
        _list(_result(of) for of in _results([*functions, *classes])),
        "## Errors",
        f"They are in `graphstore.errors`, and {_names(own_errors)} also in `graphstore`. All "
        "extend `GraphstoreError`, directly or through the class in brackets; a builtin there is "
        "extended too.",
    ]
    entries = []
    for name, error in vars(errors).items():
        if _is_error(error):
            bases = [each.__name__ for each in error.__bases__ if each is not GraphstoreError]
            entries.append(f"`{name}` ({', '.join(bases)}): {_summary(_node(error))}")
    return _page([*lines, _list(entries).replace(" ()", "")])


def _is_error(thing: Any) -> bool:
    return isinstance(thing, type) and issubclass(thing, Exception)


@cache
def _tree(file: str) -> ast.Module:
    return ast.parse(Path(file).read_text(encoding="utf-8"))


def _node(thing: Any) -> Any:
    """Return the definition of a class or a function in its source."""
    for node in _tree(inspect.getsourcefile(thing) or "").body:
        if getattr(node, "name", None) == thing.__name__:
            return node
    raise UndescribedError(f"{thing.__name__}: its definition was not found")


def _doc(node: Any) -> str:
    """Return a docstring in Markdown, without its examples."""
    text = ast.get_docstring(node)
    if not text:
        raise UndescribedError(f"Python name {node.name}, line {node.lineno} of its file")
    text = re.sub(r"^ *>>>.*\n(?:.+\n?)*", "", text + "\n", flags=re.M).strip()
    text = text.replace("``", "`")
    text = re.sub(r"`(?:[a-z_]+\.)+(?=[A-Z])", "`", text)  # a class without its module
    return _text(text)


def _summary(node: Any) -> str:
    return " ".join(_doc(node).split("\n\n")[0].split())


def _described(node: Any) -> Iterator[str]:
    """Yield the paragraphs of a docstring: arguments as a list, of what is raised the names."""
    for part in _doc(node).split("\n\n"):
        title, _, body = part.partition("\n")
        if not re.fullmatch(r"[A-Z][a-z]+:", title):
            yield " ".join(part.split())
            continue
        section = textwrap.dedent(body)
        entries = dict(re.findall(r"^(\S.*?):\s((?:.*)(?:\n .*)*)", section, re.M))
        if title == "Raises:":
            yield f"Raises {_names([each for names in entries for each in names.split(', ')])}."
        else:
            entries.pop("progress", None)
            yield _list(f"`{name}`: {' '.join(text.split())}" for name, text in entries.items())


def _signature(node: Function, of: Any, name: str = "") -> str:
    """Return how a function is called, with the types that its source has.

    `of` is the function, or the class of a method; a default that is a constant is its value.
    """
    arguments = ast.parse(ast.unparse(node)).body[0].args  # type: ignore[attr-defined]  # a copy
    module = vars(sys.modules[of.__module__])
    for defaults in (arguments.defaults, arguments.kw_defaults):
        for at, default in enumerate(defaults):
            value = module.get(getattr(default, "id", ""))
            if isinstance(value, (str, int, float)):
                defaults[at] = ast.Constant(value)
    words = re.sub(r"^(self|cls)(, )?", "", ast.unparse(arguments))
    words = re.sub(r"(?<=[\w\]])=(?=\S)", " = ", words)
    words = f"{name or node.name}({words})"
    if node.returns is not None and not name:
        words += " -> " + ast.unparse(node.returns).strip("'")
    return re.sub(r"\b[a-z_]+\.(?=[A-Z])", "", words)


def _class(of: type) -> Iterator[str]:
    """Yield the parts of a class: how it is called, its docstring, fields and methods."""
    members = _members(of)
    begin = members.get("__init__")
    if begin is not None and ast.get_docstring(begin):
        yield _code(_signature(begin, of, of.__name__))
    yield from _described(_node(of))
    if begin is not None and ast.get_docstring(begin):
        yield from list(_described(begin))[1:]
    if fields := _fields(of):
        yield f"Fields: {', '.join(fields)}."
    methods, as_in_game = [], []
    for name, node in members.items():
        if not isinstance(node, Function) or name.startswith("_"):
            continue
        if _summary(node).startswith(f"See `Game.{name}`"):
            as_in_game.append(name)
        else:
            use = name if _is_property(node) else _signature(node, of)
            about = re.sub(r"^Return (\w)(?=\w* )", lambda found: found[1].upper(), _summary(node))
            methods.append(f"`{use}`: {about}")
    yield _list(methods)
    if as_in_game:
        yield f"As in `Game`: {_names(as_in_game)}."


def _members(of: type) -> dict[str, Any]:
    """Return the definitions in a class and its bases of this package, by name."""
    bases = [each for each in of.__mro__ if each.__module__.startswith("graphstore")]
    return {
        getattr(node, "name", ""): node for base in reversed(bases) for node in _node(base).body
    }


def _is_property(node: Function) -> bool:
    return any("property" in ast.unparse(each) for each in node.decorator_list)


def _fields(of: type) -> list[str]:
    """Return the annotated fields of a class, with the comment that a line has."""
    lines = Path(inspect.getsourcefile(of) or "").read_text(encoding="utf-8").splitlines()
    found = []
    for node in _node(of).body:
        if isinstance(node, ast.AnnAssign) and not ast.unparse(node.target).startswith("_"):
            comment = lines[node.lineno - 1].partition("  # ")[2].replace("`" * 2, "`")
            found.append(f"`{ast.unparse(node.target)}`" + (f" ({comment})" if comment else ""))
    return found


def _results(public: list[Any]) -> list[type]:
    """Return the other classes of this package that functions and methods return or take."""
    found: dict[str, type] = {}
    for thing in public:
        for node in _node(thing).body if isinstance(thing, type) else [_node(thing)]:
            if isinstance(node, Function) and not node.name.startswith("_"):
                of = node.returns, node.args.kwarg and node.args.kwarg.annotation
                for name in re.findall(
                    r"\w+(?:\.\w+)?", " ".join(ast.unparse(each) for each in of if each)
                ):
                    first, _, second = name.partition(".")
                    result = vars(sys.modules[thing.__module__]).get(first)
                    result = getattr(result, second, None) if second else result
                    if isinstance(result, type) and result.__module__.startswith("graphstore."):
                        found[result.__name__] = result
    return [of for of in found.values() if of not in public]


def _result(of: type) -> str:
    methods = [
        each.name
        for each in _node(of).body
        if isinstance(each, Function) and not each.name.startswith("_") and not _is_property(each)
    ]
    return f"`{of.__name__}`: {_summary(_node(of))} {', '.join(_fields(of)) or _names(methods)}"


# Markdown


def _text(text: str, code: str = "(?!)") -> str:
    """Escape what would be an HTML tag; mark what matches a pattern as code."""
    parts = text.split("`")
    for at in range(0, len(parts), 2):
        parts[at] = re.sub(r"<(?=[a-zA-Z/!])", r"\\<", parts[at])
        parts[at] = re.sub(code, r"`\g<0>`", parts[at])
    return "`".join(parts)


def _code(text: str) -> str:
    """Return a signature as a block, broken between arguments."""
    whole = re.sub(r"(?<=[:=|>]) | (?=[=|-])", "\0", text)
    lines = textwrap.wrap(whole, 88, subsequent_indent="    ", break_on_hyphens=False)
    return "```python\n" + "\n".join(lines).replace("\0", " ") + "\n```"


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _list(items: Iterator[str] | list[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _page(parts: list[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def main() -> None:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if old")
    check = parser.parse_args().check
    try:
        pages = {"columns": columns_page(), "commands": commands_page(), "python": python_page()}
    except UndescribedError as error:
        sys.exit(f"no description: {error}")
    for name, text in pages.items():
        file = PAGES / f"{name}.md"
        if check and (not file.exists() or file.read_text(encoding="utf-8") != text):
            sys.exit(
                f"{file.relative_to(ROOT)} is out of date; run: python scripts/docs/reference.py"
            )
        if not check:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
