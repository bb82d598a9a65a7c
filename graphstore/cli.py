"""The command line: parse, call, print."""

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import Any, TextIO, TypeVar

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


def is_strategy(store: Any) -> bool:
    """Return whether a database holds a strategy, under which depths are bounds."""
    from graphstore.schema import STRATEGY

    return bool(store.info["extent"] == STRATEGY)


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


@contextmanager
def new_file(path: str) -> Iterator[TextIO]:
    """Open a file that is not there yet, for writing; after an error there is none."""
    from graphstore.store import explained

    with explained(path), open(path, "x", encoding="utf-8") as target:
        try:
            yield target
            target.flush()
        except BaseException:
            with suppress(OSError):
                os.unlink(path)
            raise


FILE = click.argument("file", type=click.Path())
RULES = click.option(
    "--rules",
    envvar="GRAPHSTORE_RULES",
    metavar="FILE.py:NAME",
    help="The rules of a game that is not built in; runs their code.  [env: GRAPHSTORE_RULES]",
)
POSITION = click.argument("position", required=False)
BELOW = click.option(
    "--from",
    "below",
    multiple=True,
    metavar="POSITION",
    help="Only what play from here can reach; may be given more than once.",
)


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
@POSITION
@click.option(
    "--against",
    default="perfect",
    show_default=True,
    metavar="OPPONENT",
    help="perfect, random, mistakes=P (P from 0 to 1), an agent of FILE, or person.",
)
@click.option(
    "--you",
    default="person",
    show_default=True,
    metavar="OPPONENT",
    help="Who plays your side, to watch one machine against another.",
)
@click.option(
    "--first",
    type=click.Choice(["you", "machine"]),
    help="Who makes the first move  [default: you, but the machine where X is to move and the file "
    "holds a strategy of X]",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="The same number makes the same choices again.",
)
@click.option("--moves", metavar="MOVES", help='Your moves, as "4 0 8": play without a terminal.')
@click.option("--record", metavar="FILE", help="Write the game to a new file, as JSON.")
@click.option("--learn", is_flag=True, help="Let the agents that play learn from the game.")
@RULES
@json_option
def play(
    file: str,
    position: str | None,
    against: str,
    you: str,
    first: str | None,
    seed: int | None,
    moves: str | None,
    record: str | None,
    learn: bool,
    rules: str | None,
    as_json: bool,
) -> None:
    """Play the game of FILE, from POSITION or from the start.

    The machine looks its moves up, so a perfect one never lets a won or drawn game go. While you
    play, ? lists what can be asked. With --json the record of the game goes to standard output,
    boards and questions to standard error.
    """
    from graphstore import console, terminal
    from graphstore.playing import PERSON, Match
    from graphstore.training import learn_from

    if moves is not None and PERSON not in (you, against):
        raise click.UsageError("--moves are a person's, and nobody here is one")
    if record is not None:
        refuse_existing(record)
    with opened(file, rules) as store:
        say_if_without_rules(store)
        if first is None:
            from_here = store.info["start"] if position is None else position
            forced = is_strategy(store) and store.probe(from_here).to_move == 1
            first = "machine" if forced else "you"
        seats = (you, against) if first == "you" else (against, you)
        match = Match(store, *seats, start=position, seed=seed)
        screen = console.out(talk=as_json)
        interrupted = False
        try:
            if moves is None:
                terminal.play_at_keyboard(match, screen)
            else:
                terminal.play_through(match, moves.replace(",", " ").split(), screen)
        except KeyboardInterrupt:  # of what was played there is a record
            interrupted = True
        for name in learn_from(match) if learn else ():
            screen.print(f"{name} has learned from it")
    if record is not None:
        with new_file(record) as target:
            target.write(console.json_text(match.as_dict()) + "\n")
    if as_json:
        console.print_json(match.as_dict())
    if interrupted:
        raise click.Abort


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
@click.option("--agent", default="menace", show_default=True, help="Its name; a new one is made.")
@click.option(
    "--games",
    type=click.IntRange(min=0),
    default=10_000,
    show_default=True,
    metavar="N",
    help="How many to play.",
)
@click.option(
    "--against",
    metavar="OPPONENT",
    help="self, perfect, random, mistakes=P, or another agent  [default: self for both sides, "
    "else perfect]",
)
@click.option("--as", "side", metavar="PLAYER", help="both, or a player: X, O, 1, 2  [new: both]")
@click.option("--stages", metavar="N/N/...", help="Beads of a kind, by stage  [new: 4/3/2/1]")
@click.option("--win", type=int, metavar="N", help="Beads added for a win  [new: 3]")
@click.option("--draw", type=int, metavar="N", help="For a draw  [new: 1]")
@click.option("--loss", type=int, metavar="N", help="For a loss  [new: -1]")
@click.option(
    "--empty", type=click.Choice(["refill", "resign"]), help="At an empty box  [new: refill]"
)
@click.option("--longest", type=int, metavar="N", help="Plies to a draw  [new: 1000]")
@click.option("--seed", type=click.IntRange(min=0), help="Of a new agent  [new: a random one]")
@click.option("--curve", metavar="PNG", help="Draw how the agent has learned, to a new file.")
@RULES
@json_option
def train(
    file: str,
    agent: str,
    games: int,
    against: str | None,
    side: str | None,
    stages: str | None,
    seed: int | None,
    curve: str | None,
    rules: str | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Let an agent learn the game of FILE by playing, and store it there.

    An agent is a MENACE: matchboxes of beads, one for each state, that win, draw and loss add to
    or take from. It goes on where it stopped, and keeps the settings that it was made with.
    """
    from graphstore import agents as room
    from graphstore import console
    from graphstore.menace import read_stages
    from graphstore.training import train as train_agent

    given = {name: value for name, value in settings.items() if value is not None}
    if stages is not None:
        given["stages"] = read_stages(stages)
    if side is not None:
        with opened(file, rules) as store:
            given["side"] = player_number(store, side)
    if curve is not None:
        refuse_existing(curve, ending=".png")
    try:
        with console.progress_shown() as progress:
            report = train_agent(
                file, agent, games=games, against=against, seed=seed, progress=progress, **given
            )
    except KeyboardInterrupt:
        with opened(file) as store:
            known = room.find(store, agent)
        kept = "nothing was stored" if known is None else f"{agent} has {known.games:,} games now"
        fail(f"interrupted; {kept}", 130)
    if curve is not None:
        with opened(file) as store:
            draw_curve(store, agent, curve)
    if as_json:
        console.print_json(report._asdict())
    else:
        console.print_report(report._asdict() | {"seed": str(report.seed)})


@cli.command()
@FILE
@click.argument("agent", required=False)
@click.option("--curve", metavar="PNG", help="Draw how AGENT has learned, to a new file.")
@click.option("--remove", is_flag=True, help="Delete AGENT, its beads and its games.")
@json_option
def agents(file: str, agent: str | None, curve: str | None, remove: bool, as_json: bool) -> None:
    """List the agents of FILE; with AGENT, its games by opponent and how it has learned.

    A box is kept if all of its favourite moves, those with the most beads, keep the value of the
    position. won_by_1 and won_by_2 count games by player, X being 1.
    """
    from graphstore import agents as room
    from graphstore import console, standings

    if agent is None and (curve is not None or remove):
        raise click.UsageError(f"{'--remove' if remove else '--curve'} wants an AGENT")
    if curve is not None:
        refuse_existing(curve, ending=".png")
    with opened(file) as store:
        if agent is None:
            rows = standings.summaries(store)
            if as_json:
                console.print_json(rows)
            elif rows:
                console.print_table(list(rows[0]), [list(row.values()) for row in rows])
            else:
                click.echo(f"{file} has no agents; graphstore train {file} makes one", err=True)
            return
        if remove:
            room.remove(store, agent)
            click.echo(f"{agent} is removed from {file}", err=True)
            return
        known = room.load(store, agent)
        (summary,) = (row for row in standings.summaries(store) if row["agent"] == agent)
        record, learned = standings.record(store, known), standings.curve(store, known)
        if curve is not None:
            draw_curve(store, agent, curve)
    points = learned.points()
    if as_json:
        console.print_json(summary | {"record": record, "curve": points})
        return
    console.print_report(summary | {"seed": str(known.seed)})
    for rows in (record, points):
        if rows:
            print()
            cells = [
                [round(cell, 3) if isinstance(cell, float) else cell for cell in row.values()]
                for row in rows
            ]
            console.print_table(list(rows[0]), cells)


def player_number(store: Any, text: str) -> int:
    """Return 1 or 2 for a player's name or number, 0 for both."""
    names = [name.lower() for name in (store.game.players if store.has_rules else ())]
    if text.lower() == "both":
        return 0
    if text in ("1", "2"):
        return int(text)
    if text.lower() in names:
        return names.index(text.lower()) + 1
    more = "" if store.has_rules else "; names of a game that is not built in need --rules"
    raise click.UsageError(f"--as {text}: there is no such player; write 1, 2 or both{more}")


def refuse_existing(path: str, *, ending: str = "") -> None:
    """Refuse a file that cannot be made, before the work."""
    if not path.lower().endswith(ending):
        raise click.UsageError(f"{path}: its name must end in {ending}, which is what it will be")
    with new_file(path):
        pass
    os.unlink(path)


def draw_curve(store: Any, agent: str, path: str) -> None:
    """Draw how an agent has learned."""
    from graphstore import agents as room
    from graphstore import standings
    from graphstore.learning import draw

    draw(standings.curve(store, room.load(store, agent)), agent, store.info["name"], path)


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
    type=click.Choice(["gmap", "record"]),
    required=True,
    help="gmap: the 32-bit map of tic-tac-toe; record: 25 bytes in hexadecimal for each state of "
    "ultimate tic-tac-toe.",
)
@click.option("--output", metavar="FILE", help="Write to a file instead of standard output.")
@json_option
def export(file: str, format_: str, output: str | None, as_json: bool) -> None:
    """Write FILE in another program's format."""
    from graphstore.export import write_gmap, write_records

    write = {"gmap": write_gmap, "record": write_records}[format_]
    with opened(file) as store:
        if output is None:
            write(store, sys.stdout, as_json=as_json)
            return
        with new_file(output) as target:
            write(store, target, as_json=as_json)
