"""The commands show, line, sql and stats, which query a database."""

import sys
from contextlib import closing

import click

from graphstore.cli import options
from graphstore.store.sql import ROWS, SECONDS


@click.command()
@options.FILE
@options.POSITION
@options.BY
@options.RULES
@options.JSON
def show(file: str, position: str | None, by: str, rules: str | None, as_json: bool) -> None:
    """Print POSITION with its value and the result of each move.

    POSITION is a board in any orientation, such as XO./.X./..., moves from the start, such as
    "moves:4 0 8", or the id of a state; the default is the start. The result of a move is for the
    player who makes it. FILE may be the name of a small game, such as tictactoe; it is then built
    for this command.
    """
    from graphstore.cli import console
    from graphstore.rules.game import move_text, names_moves

    with options.opened_or_built(file, rules) as store:
        game = options.say_if_without_rules(store)
        probe = (store.start() if position is None else store.probe(position)).by(by)
        if as_json:
            found = probe.as_dict()
            for move in found["moves"] if names_moves(store.namer) else ():
                move["name"] = move_text(store.namer, move["move"])
            console.print_json(found)
        else:
            from graphstore.cli import boards  # imports rich, which JSON does not need

            boards.print_probe(game, probe, store.namer, bound=options.is_strategy(store))
        options.say_if_at_last_ply(store, probe)


@click.command()
@options.FILE
@options.POSITION
@options.BY
@options.RULES
@options.JSON
def line(file: str, position: str | None, by: str, rules: str | None, as_json: bool) -> None:
    """Print a line of best play from POSITION.

    FILE and POSITION are as in `graphstore show`; the default is the start.
    """
    from graphstore.cli import console
    from graphstore.rules.game import move_text, names_moves

    with options.opened_or_built(file, rules) as store:
        game = options.say_if_without_rules(store)
        best = store.line(position, by=by)
        if as_json:
            columns = [name for name in best.probes[0]._fields if name != "moves"]
            probes = [{name: getattr(each, name) for name in columns} for each in best.probes]
            found = {"moves": best.moves, "positions": probes, "repeats": best.repeats}
            if names_moves(store.namer):
                found["names"] = [move_text(store.namer, move) for move in best.moves]
            console.print_json(found)
        else:
            console.print_line(game, best, store.namer, bound=options.is_strategy(store))
        if not best.repeats:
            options.say_if_at_last_ply(store, best.probes[-1])


@click.command()
@options.FILE
@click.argument("statement")
@click.option(
    "--seconds",
    type=options.Number(min=0),
    default=SECONDS,
    show_default=True,
    metavar="N",
    help="Stop with an error after N seconds; 0 for no limit.",
)
@options.number("--rows", "Stop with an error after N rows; 0 for no limit.", default=ROWS)
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
    """Run a read-only SQL STATEMENT and print its rows.

    If STATEMENT is -, it is read from standard input. The function board(id) draws a state;
    canonical(text) returns the id of the state of a position. FILE may also be a folder that
    `graphstore build --folder` wrote; its SQL is that of DuckDB.
    """
    from graphstore.cli import console
    from graphstore.util.own_process import own_process
    from graphstore.util.signals import noticed

    if statement == "-":
        statement = options.decoded(sys.stdin.buffer.read())
    in_text = console.print_csv if as_csv else console.print_table
    printer = console.print_json_rows if as_json else in_text
    with (
        own_process(options.say),
        noticed(),
        options.opened(file, rules) as store,
        closing(store.sql(statement, seconds=seconds or None, rows=rows or None)) as answer,
    ):
        printer(answer.columns, answer)


@click.command()
@options.FILE
@options.JSON
@click.option("--csv", "as_csv", is_flag=True, help="Print the census alone, as CSV.")
def stats(file: str, as_json: bool, as_csv: bool) -> None:
    """Print facts about the game of FILE and a census of its states by ply."""
    from graphstore.cli import console
    from graphstore.store.format import COLUMNS

    with options.opened(file) as store:
        info, census = store.info, store.census()
    columns = COLUMNS["census"]
    rows = [list(row.values()) for row in census]
    if as_json:
        console.print_json({"game": info, "census": census})
    elif as_csv:
        console.print_csv(columns, rows)
    else:
        console.print_report({name: value for name, value in info.items() if name != "id"})
        print()
        console.print_table(columns, rows)
