"""The commands that ask a file: show, line, sql and stats."""

import sys
from contextlib import closing

import click

from graphstore.cli import options
from graphstore.store.sql import ROWS, SECONDS


@click.command()
@options.FILE
@options.POSITION
@options.RULES
@options.JSON
def show(file: str, position: str | None, rules: str | None, as_json: bool) -> None:
    """Draw POSITION with what it and each of its moves is worth.

    POSITION is a board in any orientation, such as XO./.X./..., or the id of a state; without
    it, the start. The result of a move is for the player who makes it.
    """
    from graphstore.cli import console

    with options.opened(file, rules) as store:
        game = options.say_if_without_rules(store)
        probe = store.probe(store.info["start"] if position is None else position)
        if as_json:
            console.print_json(probe.as_dict())
        else:
            console.print_probe(game, probe, bound=options.is_strategy(store))


@click.command()
@options.FILE
@options.POSITION
@options.RULES
@options.JSON
def line(file: str, position: str | None, rules: str | None, as_json: bool) -> None:
    """Print a line of best play from POSITION, by default from the start."""
    from graphstore.cli import console

    with options.opened(file, rules) as store:
        game = options.say_if_without_rules(store)
        best = store.line(position)
        if as_json:
            columns = [name for name in best.probes[0]._fields if name != "moves"]
            probes = [{name: getattr(each, name) for name in columns} for each in best.probes]
            console.print_json({"moves": best.moves, "positions": probes, "repeats": best.repeats})
        else:
            console.print_line(game, best, bound=options.is_strategy(store))


@click.command()
@options.FILE
@click.argument("statement")
@click.option(
    "--seconds",
    type=options.Number(min=0),
    default=SECONDS,
    show_default=True,
    metavar="N",
    help="How long the database may work on it; 0: as long as it takes.",
)
@options.number("--rows", "How many rows it may have; 0: any number.", default=ROWS)
@options.RULES
@options.JSON
@options.CSV
def sql(
    file: str,
    statement: str,
    seconds: float,
    rows: int,
    rules: str | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Run one reading SQL STATEMENT; - takes it from standard input.

    board(id) draws a state, canonical(text) is the id of the state of a position. Of a game in
    parts FILE is the folder, and the SQL is DuckDB's.
    """
    from graphstore.cli import console
    from graphstore.util.own_process import own_process
    from graphstore.util.signals import noticed

    if statement == "-":
        statement = sys.stdin.buffer.read().decode(errors="replace")
    in_text = console.print_csv if as_csv else console.print_table
    printer = console.print_json_rows if as_json else in_text
    with (
        own_process(options.say),
        noticed(),
        options.asked(file, rules) as ask,
        closing(ask(statement, seconds=seconds or None, rows=rows or None)) as answer,
    ):
        printer(answer.columns, answer)


@click.command()
@options.FILE
@options.JSON
@options.CSV
def stats(file: str, as_json: bool, as_csv: bool) -> None:
    """Print what the file says of itself, and its census by ply (--csv: the census alone)."""
    from graphstore.cli import console
    from graphstore.store.schema import VIEWS

    with options.opened(file) as store:
        info, census = store.info, store.census()
    columns = VIEWS["census"].selected_columns.keys()
    rows = [list(row.values()) for row in census]
    if as_json:
        console.print_json({"game": info, "census": census})
    elif as_csv:
        console.print_csv(columns, rows)
    else:
        console.print_report({name: value for name, value in info.items() if name != "id"})
        print()
        console.print_table(columns, rows)
