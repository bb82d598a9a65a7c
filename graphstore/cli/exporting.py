"""The command `export`."""

import sys
from contextlib import nullcontext
from io import TextIOWrapper
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
    help="parquet, csv, jsonl: tables; graphml, gexf, dot: the graph; gmap: the 32-bit map of "
    "tic-tac-toe; record: 25 bytes in hexadecimal for each state of ultimate tic-tac-toe.",
)
@click.option(
    "--table",
    type=click.Choice(["state", "edge", "best_move", "q_table", "census", "matchbox"]),
    help="Of tables, which one  [default: state; in a folder, state and edge]",
)
@click.option(
    "--output",
    metavar="TARGET",
    help="Write to a new file instead of standard output; tables, without --table and if the "
    "name does not end as the format, to a new folder.",
)
@click.option("--below", metavar="POSITION", help="Only what play from here can reach.")
@options.number("--plies", "With --below, at most N plies below it.")
@click.option(
    "--where",
    metavar="SQL",
    help='Only states that fulfil a condition over the columns of state: "ply <= 3 AND value = 1".',
)
@options.RULES
@options.JSON
def export(
    file: str,
    format_: str,
    table: str | None,
    output: str | None,
    rules: str | None,
    as_json: bool,
    **part: Any,
) -> None:
    """Write FILE, or a part of it, in another program's format.

    Of a part, edges are those between its states, views those of its states. --json prints what
    --output wrote; with gmap and record it is the format.
    """
    given = [f"--{name}" for name, value in {"table": table, **part}.items() if value is not None]
    if format_ in ("gmap", "record"):
        if given:
            raise click.UsageError(f"--format {format_} writes the whole file, without {given[0]}")
        from graphstore.exports.seeds import write_gmap, write_records

        write = write_gmap if format_ == "gmap" else write_records
        target = nullcontext(sys.stdout) if output is None else new_file(output)
        with options.opened(file, rules) as store, target as stream:
            write(store, stream, as_json=as_json)
        return
    if table is not None and format_ in ("graphml", "gexf", "dot"):
        raise click.UsageError(f"--format {format_} writes the graph, without --table")
    if part["plies"] is not None and part["below"] is None:
        raise click.UsageError("--plies counts from a position: add --below POSITION")
    if output is None and format_ == "parquet":
        raise click.UsageError("--format parquet is not for reading: add --output TARGET")
    if output is None and as_json:
        raise click.UsageError("--json prints what --output wrote; rows as JSON: --format jsonl")
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
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", newline="")  # as in a file
        with nullcontext(quiet) if sys.stdout.isatty() else options.working() as progress:
            exporting.stream(store, sys.stdout, format_, table=table, progress=progress, **part)
