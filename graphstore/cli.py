"""The command line: parse, call, print."""

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import Any, TypeVar

import click

from graphstore.errors import GraphstoreError, StoreMissingError

F = TypeVar("F", bound=Callable[..., Any])


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


def fail(message: str, exit_code: int = 1) -> None:
    """Say in one line what went wrong, and exit."""
    click.echo("graphstore: " + " ".join(message.splitlines()), err=True)
    sys.exit(exit_code)


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


def json_option(command: F) -> F:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def csv_option(command: F) -> F:
    """Add ``--csv``."""
    return click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")(command)


def complete_game(_context: Any, _parameter: Any, typed: str) -> list[str]:
    """Return the names of games that begin as typed, for the shell."""
    from graphstore.games import FAMILIES

    names = [name for family in FAMILIES for name in (*family.examples, *family.large)]
    return [name for name in names if name.startswith(typed)]


@contextmanager
def warnings_said() -> Iterator[None]:
    """Print the package's warnings as they come, each as one line."""

    def say(message: Warning | str, *_: Any) -> None:
        click.echo(f"graphstore: warning: {message}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = say  # type: ignore[assignment]  # it needs no more than the message
        yield


def opened(file: str, rules: str | None = None) -> Any:
    """Open a database with the rules that were named, and say what is wrong with them."""
    from graphstore.games import find_game
    from graphstore.store import Store

    try:
        with warnings_said():
            store = Store.open(file)
            if rules is None or (store.has_rules and _from_environment("rules")):
                return store  # the variable is for games that are not built in
            store.close()
            return Store.open(file, rules=find_game(rules))
    except StoreMissingError:
        given = click.get_current_context().params
        for other in (given.get("position"), given.get("statement")):
            if other is not None and os.path.isfile(other):
                raise click.UsageError(f"{other} is a file; FILE goes first") from None
        raise


def _from_environment(option: str) -> bool:
    source = click.get_current_context().get_parameter_source(option)
    return source is click.core.ParameterSource.ENVIRONMENT


def say_if_without_rules(store: Any) -> Any:
    """Return the rules; without them, say in one line what that means, and return None."""
    if store.has_rules:
        return store.game
    name = store.info["name"]
    click.echo(
        f"graphstore: {name} is not built in; without --rules FILE.py:NAME, "
        "positions are found only as they are stored",
        err=True,
    )
    return None


FILE = click.argument("file", type=click.Path())
RULES = click.option(
    "--rules",
    envvar="GRAPHSTORE_RULES",
    metavar="FILE.py:NAME",
    help="The rules of a game that is not built in; runs their code.  [env: GRAPHSTORE_RULES]",
)
POSITION = click.argument("position", required=False)


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
@click.option("--force", is_flag=True, help="Replace the file if there is one.")
@click.option(
    "--max-states",
    type=click.IntRange(min=1),
    metavar="N",
    help="Give up beyond N states  [default: 100 million]",
)
@json_option
def build(game: str, db: str | None, force: bool, max_states: int | None, as_json: bool) -> None:
    """Explore and solve GAME and write it to a database.

    GAME is a name that `graphstore games` lists, such as tictactoe or "mnk(4,4,4)", or your own
    rules: FILE.py:NAME or MODULE:NAME, which runs their code.
    """
    from graphstore import console
    from graphstore.building import build as build_database
    from graphstore.games import find_game

    rules = find_game(game)
    short = rules.name.rpartition(":")[2].lower()
    target = db or re.sub(r"[^a-z0-9]+", "-", short).strip("-") + ".db"
    with warnings_said(), console.progress_shown() as progress:
        report = build_database(
            rules, target, force=force, max_states=max_states, progress=progress
        )
    if as_json:
        console.print_json(report._asdict())
        return
    seconds = {f"seconds: {phase}": value for phase, value in report.seconds.items()}
    facts = {name: value for name, value in report._asdict().items() if name != "seconds"}
    total = round(sum(report.seconds.values()), 4)
    console.print_report(facts | seconds | {"seconds: total": total})


@cli.command()
@click.argument("game", shell_complete=complete_game)
@json_option
def estimate(game: str, as_json: bool) -> None:
    """Say what building GAME would take, to judge by the growth of its first waves."""
    from graphstore import console
    from graphstore.exploration import estimate as estimate_game
    from graphstore.games import find_game
    from graphstore.growth import about, sized

    rules = find_game(game)
    with console.progress_shown() as progress:
        ahead = estimate_game(rules, progress=progress)
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
            console.print_probe(game, probe)


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
            console.print_line(game, best)


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
    if not verdict.ok:
        fail(f"{file} is wrong in {len(verdict.problems) + verdict.more:,} places; build it anew")


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
    type=click.Choice(["gmap"]),
    required=True,
    help="gmap: the 32-bit map of tic-tac-toe.",
)
@click.option("--output", metavar="FILE", help="Write to a file instead of standard output.")
@json_option
def export(file: str, format_: str, output: str | None, as_json: bool) -> None:
    """Write FILE in another program's format."""
    from graphstore.export import write_gmap
    from graphstore.store import explained

    assert format_ == "gmap"
    with opened(file) as store:
        if output is None:
            write_gmap(store, sys.stdout, as_json=as_json)
            return
        with explained(output), open(output, "x", encoding="utf-8") as target:
            try:
                write_gmap(store, target, as_json=as_json)
            except BaseException:
                with suppress(OSError):
                    os.unlink(output)
                raise
