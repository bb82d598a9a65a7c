"""The command line: parse, call, print."""

import os
import re
import sys
from contextlib import nullcontext
from io import TextIOWrapper
from typing import Any

import click

from graphstore.errors import GraphstoreError
from graphstore.lookcommands import draw
from graphstore.options import (
    BELOW,
    FILE,
    POSITION,
    RULES,
    complete_game,
    csv_option,
    fail,
    is_strategy,
    json_option,
    new_file,
    opened,
    say_if_without_rules,
    warnings_said,
)
from graphstore.playcommands import agents, play, train
from graphstore.webcommands import serve


def main() -> None:
    """Run a command; exit 0 if it went well, 1 on an error, 2 on wrong usage, 130 on Ctrl-C."""
    if sys.stdout is None:  # closed, as by >&-
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # for good
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        cli.main(prog_name="graphstore", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.UsageError as error:
        command = "graphstore" if error.ctx is None else error.ctx.command_path
        fail(f"{error.format_message().rstrip('.')} (see {command} -h)", error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        fail("interrupted", 130)
    except BrokenPipeError:  # the reader has seen enough, as `head` does
        drop_output()
        sys.exit(141)
    except (GraphstoreError, click.ClickException) as error:
        fail(str(error))
    except OSError as error:  # of databases and files, the above has told
        drop_output()
        fail(f"standard input or output: {error.strerror or error}")
    except MemoryError:
        fail("not enough memory; try a smaller game, or bound it with --max-states")
    except Exception as error:
        if os.environ.get("GRAPHSTORE_DEBUG"):
            raise
        fail(f"a bug: {type(error).__name__}: {error}; GRAPHSTORE_DEBUG=1 shows where")


def drop_output() -> None:
    """Let what is not yet written go: the interpreter would try once more, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Commands(click.Group):
    """Commands whose Ctrl-C and closed pipe come to `main` as they are; click adds to both."""

    def invoke(self, context: click.Context) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(context)
        except KeyboardInterrupt:
            raise click.Abort from None  # click would print an empty line before
        except BrokenPipeError:
            drop_output()
            sys.exit(141)  # click would exit with 1


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="graphstore", message="graphstore %(version)s")
def cli() -> None:
    """Every position of a small game, solved, in a database you can query.

    \b
    graphstore build tictactoe
    graphstore show tictactoe.db XO./.X./...
    graphstore sql tictactoe.db "SELECT ply, count(*) FROM state GROUP BY ply"
    """  # noqa: D301  # click takes this very character to mean: leave these lines alone


@cli.command()
@json_option
def games(as_json: bool) -> None:
    """List the games that are built in."""
    from graphstore import console
    from graphstore.games import FAMILIES

    rows = [
        {
            "game": family.usage,
            "about": family.about,
            "examples": [*family.examples, *family.large],
        }
        for family in FAMILIES
    ]
    if as_json:
        console.print_json(rows)
    else:
        console.print_table(
            ("game", "about", "examples"),
            [(row["game"], row["about"], " ".join(row["examples"])) for row in rows],
        )


@cli.command()
@click.argument("game", shell_complete=complete_game)
@click.option("--db", metavar="FILE", help="Where to write it  [default: the game's name, here]")
@BELOW
@click.option("--force", is_flag=True, help="Replace the file if there is one; keep its agents.")
@click.option("--drop-agents", is_flag=True, help="With --force, do not keep its agents.")
@click.option(
    "--max-states",
    type=click.IntRange(min=1),
    metavar="N",
    help="Give up beyond N states  [default: 100 million]",
)
@json_option
def build(
    game: str,
    db: str | None,
    below: tuple[str, ...],
    force: bool,
    drop_agents: bool,
    max_states: int | None,
    as_json: bool,
) -> None:
    """Explore and solve GAME and write it to a database.

    GAME is a name that `graphstore games` lists, such as tictactoe or "mnk(4,4,4)", or your own
    rules: FILE.py:NAME or MODULE:NAME, which runs their code. With --from, a file that was built so
    is added to.
    """
    from graphstore import console
    from graphstore.building import build as build_database
    from graphstore.games import find_game

    rules = find_game(game)
    short = rules.name.rpartition(":")[2].lower()
    target = db or re.sub(r"[^a-z0-9]+", "-", short).strip("-") + ".db"
    with warnings_said(), console.progress_shown() as progress:
        report = build_database(
            rules,
            target,
            below=below,
            force=force,
            drop_agents=drop_agents,
            max_states=max_states,
            progress=progress,
        )
    print_build(report, as_json=as_json)


@cli.command()
@click.argument("game")
@click.option("--db", metavar="FILE", help="Where to write it  [default: the name below, here]")
@click.option("--force", is_flag=True, help="Replace the file if there is one.")
@json_option
def prove(game: str, db: str | None, force: bool, as_json: bool) -> None:
    """Write the proof that the first player wins GAME to a database.

    GAME is ultimate, or ultimate(open): X wins it within 43 plies. The database,
    ultimate-open-strategy.db, has one move of X in every position that can come, and all of O.
    `graphstore verify` checks it without the program that found it.
    """
    from graphstore import console
    from graphstore.proving import check_name
    from graphstore.proving import prove as prove_game

    check_name(game)
    with warnings_said(), console.progress_shown() as progress:
        report = prove_game(db or "ultimate-open-strategy.db", force=force, progress=progress)
    print_build(report, as_json=as_json)


def print_build(report: Any, *, as_json: bool) -> None:
    """Print what a build made."""
    from graphstore import console

    if as_json:
        console.print_json(report._asdict())
        return
    seconds = {f"seconds: {phase}": value for phase, value in report.seconds.items()}
    facts = {
        name: ", ".join(value) if name == "agents" else value
        for name, value in report._asdict().items()
        if name != "seconds" and (name != "agents" or value)
    }
    total = round(sum(report.seconds.values()), 4)
    console.print_report(facts | seconds | {"seconds: total": total})


@cli.command()
@click.argument("game", shell_complete=complete_game)
@BELOW
@json_option
def estimate(game: str, below: tuple[str, ...], as_json: bool) -> None:
    """Say what building GAME would take, to judge by the growth of its first waves."""
    from graphstore import console
    from graphstore.exploration import estimate as estimate_game
    from graphstore.games import find_game
    from graphstore.growth import about, sized

    rules = find_game(game)
    with console.progress_shown() as progress:
        starts = rules.read_many(list(below)) if below else None
        ahead = estimate_game(rules, starts=starts, progress=progress)
    if as_json:
        numbers = {name: None if n == float("inf") else n for name, n in ahead._asdict().items()}
        console.print_json({"game": rules.name, **numbers})
        return
    console.print_report(
        {
            "game": rules.name,
            "states": about(ahead),
            "moves": f"{ahead.moves:.3g}",
            "plies": ahead.plies,
            "file": sized(ahead.file_bytes),
            "memory": sized(ahead.memory_bytes),
            "seconds": f"{ahead.seconds:.2g}",
            "judged by": f"all {ahead.seen:,} states"
            if ahead.complete
            else f"the first {ahead.seen:,} states",
        }
    )


@cli.command()
@click.argument("game", shell_complete=complete_game)
@click.option(
    "--max-positions",
    type=click.IntRange(min=1),
    default=100_000,
    show_default=True,
    metavar="N",
    help="Stop looking after N positions.",
)
@json_option
def check(game: str, max_positions: int, as_json: bool) -> None:
    """Say which laws the rules of GAME break, and at which position.

    GAME is your own rules, FILE.py:NAME or MODULE:NAME, or a built-in game. Exit with 1 if a law
    is broken.
    """
    from graphstore import console
    from graphstore.contract import check as check_rules
    from graphstore.games import find_game

    rules = find_game(game)
    with console.progress_shown() as progress:
        findings = check_rules(rules, max_positions=max_positions, progress=progress)
    if as_json:
        breaches = [breach._asdict() for breach in findings.breaches]
        console.print_json({**findings._asdict(), "breaches": breaches})
    else:
        for breach in findings.breaches:
            print(breach)
        if not findings.breaches:
            extent = "all" if findings.complete else "the first"
            print(f"{rules.name} keeps every law at {extent} {findings.positions:,} positions")
    if findings.breaches:
        count = len(findings.breaches)
        fail(f"{rules.name} breaks {count} law{'s' * (count > 1)}; each is shown once")


@cli.command()
@click.argument("game", shell_complete=complete_game)
@POSITION
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Give up after so long; the value is then unknown, and the exit code 0.",
)
@json_option
def solve(game: str, position: str | None, timeout: float | None, as_json: bool) -> None:
    """Say what POSITION of GAME is worth, by a search, without a database.

    GAME is named as for `graphstore build`. POSITION is a board, such as XO./.X./...; without it,
    or as the word start, it is the start.
    """
    from graphstore import console
    from graphstore.games import find_game
    from graphstore.searching import START, search

    if timeout is not None and timeout != timeout:
        raise click.UsageError("--timeout nan: that is no number of seconds")
    rules = find_game(game)
    with warnings_said(), console.progress_shown() as progress:
        found = search(
            rules, START if position is None else position, timeout=timeout, progress=progress
        )
    if as_json:
        console.print_json(found._asdict())
    else:
        console.print_searched(rules, found)


@cli.command()
@FILE
@POSITION
@RULES
@json_option
def show(file: str, position: str | None, rules: str | None, as_json: bool) -> None:
    """Draw POSITION with what it and each of its moves is worth.

    POSITION is a board in any orientation, such as XO./.X./..., or the id of a state; without
    it, the start. The result of a move is for the player who makes it.
    """
    from graphstore import console

    with opened(file, rules) as store:
        game = say_if_without_rules(store)
        probe = store.probe(store.info["start"] if position is None else position)
        if as_json:
            console.print_json(probe.as_dict())
        else:
            console.print_probe(game, probe, bound=is_strategy(store))


@cli.command()
@FILE
@POSITION
@RULES
@json_option
def line(file: str, position: str | None, rules: str | None, as_json: bool) -> None:
    """Print a line of best play from POSITION, by default from the start."""
    from graphstore import console

    with opened(file, rules) as store:
        game = say_if_without_rules(store)
        best = store.line(position)
        if as_json:
            probes = [probe._asdict() | {"moves": None} for probe in best.probes]
            for probe in probes:
                del probe["moves"]
            console.print_json({"moves": best.moves, "positions": probes, "repeats": best.repeats})
        else:
            console.print_line(game, best, bound=is_strategy(store))


@cli.command()
@FILE
@click.argument("statement")
@RULES
@json_option
@csv_option
def sql(file: str, statement: str, rules: str | None, as_json: bool, as_csv: bool) -> None:
    """Run one reading SQL STATEMENT; - takes it from standard input.

    board(id) draws a state, canonical(text) is the id of the state of a position.
    """
    from graphstore import console

    if statement == "-":
        statement = sys.stdin.buffer.read().decode(errors="replace")
    with opened(file, rules) as store:
        answer = store.sql(statement)
        printer = console.print_table
        if as_json:
            printer = console.print_json_rows
        elif as_csv:
            printer = console.print_csv
        printer(answer.columns, answer)


@cli.command()
@FILE
@json_option
@csv_option
def stats(file: str, as_json: bool, as_csv: bool) -> None:
    """Print what the file says of itself, and its census by ply (--csv: the census alone)."""
    from graphstore import console
    from graphstore.schema import VIEWS

    with opened(file) as store:
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


@cli.command()
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
            print(problem)
        if verdict.more:
            print(f"and {verdict.more:,} more problems")
        for what in verdict.skipped:
            print(f"not checked: {what}")
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


@cli.command()
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


@cli.command()
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


for command in (draw, play, train, agents, serve):
    cli.add_command(command)
