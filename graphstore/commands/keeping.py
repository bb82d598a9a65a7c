"""The commands that look after a file: verify, upgrade and export."""

import sys
from contextlib import nullcontext
from io import TextIOWrapper
from typing import Any

import click

from graphstore.commands.options import (
    FILE,
    RULES,
    fail,
    is_strategy,
    json_option,
    new_file,
    opened,
    say_if_without_rules,
)
from graphstore.errors import visible


@click.command()
@FILE
@RULES
@json_option
def verify(file: str, rules: str | None, as_json: bool) -> None:
    """Derive every edge and value of FILE anew; exit with 1 if anything is wrong."""
    from graphstore import console
    from graphstore.schema import AGENT_TABLES
    from graphstore.verification import verify as verify_store

    with opened(file, rules) as store, console.progress_shown() as progress:
        verdict = verify_store(store, progress=progress)
    if as_json:
        problems = [problem._asdict() for problem in verdict.problems]
        console.print_json({"ok": verdict.ok, **verdict._asdict(), "problems": problems})
    else:
        for problem in verdict.problems:
            print(visible(str(problem)))
        if verdict.more:
            print(f"and {verdict.more:,} more problems")
        for what in verdict.skipped:
            print(visible(f"not checked: {what}"))
        if verdict.ok:
            print(f"{file} holds: {store.info['states']:,} states, {store.info['moves']:,} moves")
            print(f"derived anew: {', '.join(verdict.checked)}")
            if is_strategy(store):
                player, plies = store.game.players[0], store.info["remoteness"]
                print(
                    f"a proof: {player} wins {store.info['name']} within {plies} plies, since "
                    "every reply is answered"
                )
    if not verdict.ok:
        of_agents = {str(table) for table in AGENT_TABLES}
        mend = "build it anew"
        if all(problem.table in of_agents for problem in verdict.problems):
            mend = f"graphstore agents {file} AGENT --remove deletes what is wrong"
        fail(f"{file} is wrong in {len(verdict.problems) + verdict.more:,} places; {mend}")


@click.command()
@FILE
@json_option
def upgrade(file: str, as_json: bool) -> None:
    """Bring FILE to the schema of this version, in place."""
    from graphstore import console, schema
    from graphstore.store import upgrade as upgrade_store

    before, after = upgrade_store(file), schema.REVISIONS[-1]
    if as_json:
        console.print_json({"file": file, "before": before, "after": after})
    elif before == after:
        print(f"{file} is at schema {after} already")
    else:
        print(f"{file}: schema {before} -> {after}")


@click.command()
@FILE
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
@click.option(
    "--plies",
    type=click.IntRange(min=0),
    metavar="N",
    help="With --below, at most N plies below it.",
)
@click.option(
    "--where",
    metavar="SQL",
    help='Only states that fulfil a condition over the columns of state: "ply <= 3 AND value = 1".',
)
@RULES
@json_option
def export(
    file: str,
    format_: str,
    table: str | None,
    output: str | None,
    below: str | None,
    plies: int | None,
    where: str | None,
    rules: str | None,
    as_json: bool,
) -> None:
    """Write FILE, or a part of it, in another program's format.

    Of a part, edges are those between its states, views those of its states. --json prints what
    --output wrote; with gmap and record it is the format.
    """
    part: dict[str, Any] = {"below": below, "plies": plies, "where": where}
    given = [f"--{name}" for name, value in {"table": table, **part}.items() if value is not None]
    if format_ in ("gmap", "record"):
        if given:
            raise click.UsageError(f"--format {format_} writes the whole file, without {given[0]}")
        export_whole(file, format_, output, rules, as_json=as_json)
        return
    if table is not None and format_ in ("graphml", "gexf", "dot"):
        raise click.UsageError(f"--format {format_} writes the graph, without --table")
    if plies is not None and below is None:
        raise click.UsageError("--plies counts from a position: add --below POSITION")
    if output is None and format_ == "parquet":
        raise click.UsageError("--format parquet is not for reading: add --output TARGET")
    if output is None and as_json:
        raise click.UsageError("--json prints what --output wrote; rows as JSON: --format jsonl")
    from graphstore import console, exporting
    from graphstore.game import quiet

    with opened(file, rules) as store:
        if below is not None:
            say_if_without_rules(store)
        if output is not None:
            with console.progress_shown() as progress:
                done = exporting.export(
                    store, output, format_, table=table, progress=progress, **part
                )
            if as_json:
                console.print_json(done._asdict())
            else:
                console.print_report({"files": ", ".join(done.files), **done.rows})
            return
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", newline="")  # as in a file
        with nullcontext(quiet) if sys.stdout.isatty() else console.progress_shown() as progress:
            exporting.stream(store, sys.stdout, format_, table=table, progress=progress, **part)


def export_whole(
    file: str, format_: str, output: str | None, rules: str | None, *, as_json: bool
) -> None:
    """Write a map or records, which have no parts."""
    from graphstore.otherformats import write_gmap, write_records

    write = {"gmap": write_gmap, "record": write_records}[format_]
    with opened(file, rules) as store:
        if output is None:
            write(store, sys.stdout, as_json=as_json)
            return
        with new_file(output) as target:
            write(store, target, as_json=as_json)
