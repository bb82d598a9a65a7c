"""The command `export`."""

import sys
from contextlib import nullcontext
from typing import Any

import click

from graphstore.cli import options
from graphstore.util.files import new_file


@click.command()
@options.FILE
@click.option(
    "--format",
    "format_",
    type=click.Choice(["parquet", "csv", "jsonl", "graphml", "gexf", "dot", "gmap", "record"]),
    required=True,
    help="Write in this format: tables as parquet, csv or jsonl; the graph as graphml, gexf or "
    "dot; tic-tac-toe as gmap, a 32-bit map; ultimate tic-tac-toe as record, 25 bytes in "
    "hexadecimal for each state.",
)
@click.option(
    "--table",
    type=click.Choice(
        [
            *("state", "edge", "move", "best_move", "best_move_by_margin", "q_table", "census"),
            "matchbox",
        ]
    ),
    show_default="state; in a folder, state, edge, and move if moves have names",
    help="Write this table or view; only for parquet, csv and jsonl.",
)
@click.option(
    "--output",
    metavar="TARGET",
    help="Write to a new file instead of standard output. Tables go to a new folder, unless "
    "--table is given or the name ends in the format, such as .csv.",
)
@click.option("--below", metavar="POSITION", help="Write only what play from POSITION can reach.")
@options.number("--plies", "With --below, write only states at most N plies below POSITION.")
@click.option(
    "--where",
    metavar="SQL",
    help="Write only states that fulfil this condition on the columns of state, such as "
    '"ply <= 3 AND value = 1".',
)
@options.RULES
@options.json("With --output, print the report as JSON; with gmap or record, write JSON.")
def export(
    file: str,
    format_: str,
    table: str | None,
    output: str | None,
    rules: str | None,
    as_json: bool,
    **part: Any,
) -> None:
    """Export FILE, or a part of it, to another format.

    --below, --plies and --where select states. The edges of such a part are the moves between its
    states; its views have all moves of its states.
    """
    given = [f"--{name}" for name, value in {"table": table, **part}.items() if value is not None]
    if format_ in ("gmap", "record"):
        if given:
            raise click.UsageError(
                f"--format {format_} writes the whole game; leave out {given[0]}"
            )
        from graphstore.exports.game_formats import write_gmap, write_records

        write = write_gmap if format_ == "gmap" else write_records
        target = nullcontext(sys.stdout) if output is None else new_file(output)
        with options.opened(file, rules) as store, target as stream:
            write(store, stream, as_json=as_json)
        return
    if table is not None and format_ in ("graphml", "gexf", "dot"):
        raise click.UsageError(f"--format {format_} writes the graph; leave out --table")
    if part["plies"] is not None and part["below"] is None:
        raise click.UsageError("--plies needs --below POSITION")
    if output is None and format_ == "parquet":
        raise click.UsageError("Parquet is binary; add --output TARGET")
    if output is None and as_json:
        raise click.UsageError("--json needs --output; for rows as JSON use --format jsonl")
    from graphstore.cli import console
    from graphstore.exports import exporting
    from graphstore.rules.game import quiet

    with options.opened(file, rules) as store:
        if part["below"] is not None:
            options.say_if_without_rules(store)
        if output is not None:
            with options.working() as progress:
                done = exporting.export(
                    store, output, format_, table=table, progress=progress, **part
                )
            if as_json:
                console.print_json(done)
            else:
                console.print_report({"files": ", ".join(done.files), **done.rows})
            return
        console.output_as_in_a_file()
        with nullcontext(quiet) if sys.stdout.isatty() else options.working() as progress:
            exporting.stream(store, sys.stdout, format_, table=table, progress=progress, **part)
