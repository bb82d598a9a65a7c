"""The commands verify, diff and upgrade."""

import os
import sys
from typing import Any

import click

from graphstore.cli import options
from graphstore.errors import visible


@click.command()
@options.FILE
@options.number(
    "--sample",
    "Check only N random states, and print a bound on the share of wrong ones among all.",
    least=1,
)
@click.option(
    "--confidence",
    type=options.Number(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    metavar="C",
    help="With --sample, the probability with which the bound must hold.",
)
@options.number(
    "--seed",
    "With --sample, the seed of the random numbers; the same seed draws the same states.",
    metavar="S",
    show_default="a random one, which is printed",
)
@options.RULES
@options.JSON
def verify(
    file: str,
    sample: int | None,
    confidence: float,
    seed: int | None,
    rules: str | None,
    as_json: bool,
) -> None:
    """Compare FILE with the rules, its rows with each other, and print what is wrong.

    The last line says what was compared. The exit code is 1 if anything is wrong. FILE is not
    changed. It may also be a folder that `graphstore build --folder` wrote.
    """
    for option in ("seed", "confidence"):
        given = click.get_current_context().get_parameter_source(option)
        if sample is None and given is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{option} needs --sample N")
    from graphstore.checks import verify as verify_store
    from graphstore.checks.file.verifier import KEEPS
    from graphstore.cli import console
    from graphstore.store.schema import AGENT_TABLES

    if sample is not None and os.path.isdir(file):
        raise click.UsageError(f"{file} is a folder, which is checked whole; leave out --sample")
    with (
        options.opened_or_folder(file, rules, loosely=True) as (store, given),
        options.working() as progress,
    ):
        verdict = verify_store(
            store, sample=sample, confidence=confidence, seed=seed, rules=given, progress=progress
        )
    if as_json:
        console.print_json({"ok": verdict.ok, **verdict._asdict()})
    else:
        print_verdict(verdict, store)
    if not verdict.ok:
        of_agents = {str(table) for table in AGENT_TABLES}
        mend, name = "rebuild it", store.info["name"]
        known = given or (not os.path.isdir(file) and store.has_rules and store.game)
        if known and known.name != name:
            mend = f"give the rules that built it, {name}, or rebuild it"
        if any(str(problem.expected).startswith(KEEPS) for problem in verdict.problems):
            mend = (
                "correct the symmetries of the rules, which graphstore check names; then rebuild it"
            )
        if all(problem.table in of_agents for problem in verdict.problems):
            mend = f"delete the agent: graphstore agents {store.address} AGENT --remove"
        if sample is not None:
            mend += "; without --sample everything wrong is listed"
        number = len(verdict.problems) + verdict.more
        options.fail(f"{store.address} is wrong in {number:,} place{'s' * (number > 1)}; {mend}")


def print_verdict(verdict: Any, store: Any) -> None:
    """Print the problems that `verify` found, and what it checked."""
    for problem in verdict.problems:
        print(visible(str(problem)))
    if verdict.more:
        print(f"and {verdict.more:,} more problems")
    for what in verdict.skipped:
        print(visible(f"not checked: {what}"))
    info, whole = store.info, verdict.ok and verdict.sample is None
    if verdict.sample is not None:
        print(verdict.sample)
    if whole:
        size = f"{info['states']:,} states, {info['moves']:,} moves"
        found = "shows nothing wrong in what was checked" if verdict.skipped else "is correct"
        print(f"{store.address} {found}: {size}")
    if verdict.ok:
        print(f"checked: {', '.join(verdict.checked)}")
    if whole and options.is_strategy(store):
        claim = f"{store.game.players[0]} wins {info['name']} within {info['remoteness']} plies"
        print(f"proved: {claim}, because every reply has an answer")


@click.command()
@click.argument("first", metavar="A", type=click.Path())
@click.argument("second", metavar="B", type=click.Path())
@click.option("--rows", is_flag=True, help="Compare all rows, even where the digests are equal.")
@click.option("--agents", is_flag=True, help="Compare the agents too, matched by name.")
@options.number("--limit", "List at most N differences; all are counted.", default=20)
@options.JSON
def diff(first: str, second: str, rows: bool, agents: bool, limit: int, as_json: bool) -> None:
    """Compare the games in the databases A and B.

    The exit code is 0 if the games are the same, 1 if not. The stored digests are compared first;
    only tables with different digests are read. The date, program and duration of a build are not
    compared.
    """
    from graphstore.checks.compare import compare
    from graphstore.cli import console

    with (
        options.opened(first) as one,
        options.opened(second) as other,
        options.working() as progress,
    ):
        found = compare(one, other, rows=rows, agents=agents, most=limit, progress=progress)
    if as_json:
        addresses = {"first": one.address, "second": other.address}
        console.print_json({"same": found.same, **addresses, **found._asdict()})
    else:
        print_comparison(found, one, other)
    if not found.same:
        sys.exit(1)


def print_comparison(found: Any, first: Any, second: Any) -> None:
    """Print what differs between two databases, and the first differences."""
    if found.same:
        how = f"all rows of {', '.join(found.read)}" if found.read else "by the digests"
        size = f"{first.info['states']:,} states, {first.info['moves']:,} moves"
        print(f"{first.address} and {second.address} hold the same game: {size} ({how})")
    if found.names[0] != found.names[1]:
        print(f"different games: {found.names[0]}, in the second {found.names[1]}")
    if found.digests:
        print(f"different digests: {', '.join(found.digests)}")
    for table, counts in found.tables.items():
        parts = [
            f"{number:,} {what}"
            for number, what in (
                (counts.only_first, "only in the first"),
                (counts.only_second, "only in the second"),
                (counts.differ, "with different cells"),
            )
            if number
        ]
        cells = ", ".join(f"{name} {number:,}" for name, number in counts.cells.items())
        print(f"{table}: {', '.join(parts)}{cells and f' ({cells})'}")
    for difference in found.differences:
        print(difference)
    if found.more:
        print(f"and {found.more:,} more")
    if not found.digests_tell:
        print("the stored digests disagree with the rows; graphstore verify finds the changed file")


@click.command()
@options.FILE
@options.JSON
def upgrade(file: str, as_json: bool) -> None:
    """Upgrade FILE in place to the schema of this version."""
    from graphstore.cli import console
    from graphstore.store import schema
    from graphstore.store.store import find_backend
    from graphstore.store.store import upgrade as upgrade_store

    before, after = upgrade_store(file), schema.REVISIONS[-1]
    address = find_backend(file).address
    if as_json:
        console.print_json({"file": address, "before": before, "after": after})
    elif before == after:
        print(f"{address} is at schema {after} already")
    else:
        print(f"{address}: schema {before} -> {after}")
