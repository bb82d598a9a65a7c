"""The commands games, build, load, prove, estimate, check, solve and outcome."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import click

from graphstore.cli import options

MORE_MEMORY = "build with --out-of-core, or stop earlier with --max-states"
LESS_MEMORY = "give a smaller --memory, fewer processes, or raise the limit (ulimit -v)"


@click.command()
@options.JSON
def games(as_json: bool) -> None:
    """List the built-in games."""
    from graphstore.cli import console
    from graphstore.games import FAMILIES

    names = ("game", "about", "examples")
    rows = [(each.usage, each.about, [*each.examples, *each.large]) for each in FAMILIES]
    if as_json:
        console.print_json([dict(zip(names, row, strict=True)) for row in rows])
    else:
        console.print_table(names, [(*row[:2], " ".join(row[2])) for row in rows])


@click.command()
@options.GAME
@options.DB
@options.BELOW
@options.FORCE
@options.DROP_AGENTS
@options.MAX_STATES
@click.option(
    "--out-of-core", is_flag=True, help="Build in parts on the disk instead of in memory."
)
@click.option(
    "--cluster",
    metavar="WHERE",
    help="Build out of core with several processes: local:N for N processes on this machine, or "
    "the address of a Dask scheduler, such as tls://host:8786.",
)
@click.option("--tls-ca", metavar="PEM", help="Trust a tls:// scheduler of this authority.")
@click.option("--tls-cert", metavar="PEM", help="Connect to it with this certificate.")
@click.option("--tls-key", metavar="PEM", help="The key of this certificate.")
@click.option(
    "--exchange",
    metavar="URL",
    help="Let the workers of a cluster exchange files at this address, such as s3://bucket/prefix, "
    "if they do not see the folder of the build.",
)
@click.option(
    "--folder",
    metavar="FOLDER",
    help="Build out of core and write Parquet files to FOLDER instead of a database.",
)
@click.option(
    "--no-edges",
    is_flag=True,
    help="Write no files of edges to FOLDER: moves of a built-in game follow from the rules.",
)
@click.option(
    "--memory",
    type=options.size,
    metavar="SIZE",
    show_default="half of this machine's memory, divided among the processes",
    help="Limit the memory of each process of a build out of core, such as 4GB.",
)
@options.number(
    "--parts",
    "Divide each wave of a build out of core into N parts, of 50,000 states or more.",
    least=1,
    most=4096,
    show_default="as few as the memory and the processes allow",
)
@options.JSON
def build(
    game: str,
    db: str | None,
    drop_agents: bool,
    out_of_core: bool,
    folder: str | None,
    no_edges: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Solve GAME and write every state and move to a database.

    GAME is a game that `graphstore games` lists, such as tictactoe, "mnk(4,4,4)" or mnk-4-4-4, or
    your own rules, FILE.py:NAME or MODULE:NAME. Your own rules are run as Python code.

    With --from, the positions are added to a database that was built with --from.

    A game that does not fit into memory is built out of core: by this process with --out-of-core,
    by several with --cluster. After an interruption, run the same command again to resume.
    """
    from graphstore.building.in_memory import build as build_database
    from graphstore.games import file_name, find_game

    rules = find_game(game)
    target = file_name(rules.name) if db is None else db
    if folder is not None and (db is not None or drop_agents):
        raise click.UsageError(
            "--folder does not write a database; leave out --db and --drop-agents"
        )
    if no_edges and folder is None:
        raise click.UsageError("--no-edges is for files of a --folder; a database has edges")
    of_parts = {name: settings.pop(name) for name in ("cluster", "exchange", "memory", "parts")}
    tls = tuple(settings.pop(f"tls_{part}") for part in ("ca", "cert", "key"))
    if tls != (None,) * 3:
        if of_parts["cluster"] is None or None in tls:
            raise click.UsageError(
                "--tls-ca, --tls-cert and --tls-key are given together, with --cluster"
            )
        of_parts["tls"] = tls
    if folder is None:
        settings["drop_agents"] = drop_agents
    if not out_of_core and of_parts["cluster"] is None and folder is None:
        if any(value is not None for value in of_parts.values()):
            raise click.UsageError(
                "--exchange, --memory and --parts need --out-of-core, --cluster or --folder"
            )
        with options.working() as progress, options.advised(MORE_MEMORY):
            report = build_database(rules, target, progress=progress, **settings)
        print_build(report, as_json=as_json)
        return
    from graphstore.building.out_of_core import build_folder, build_out_of_core

    try:
        with options.working() as progress, options.advised(LESS_MEMORY):
            settings |= of_parts | {"progress": progress}
            if folder is None:
                report = build_out_of_core(rules, target, **settings)
            else:
                report = build_folder(rules, folder, edges=not no_edges, **settings)
    except KeyboardInterrupt:
        options.say("finished parts are kept; run the same command again to resume")
        raise
    print_build(report, as_json=as_json)


@click.command()
@click.argument("folder", type=click.Path())
@options.DB
@options.FORCE
@options.DROP_AGENTS
@options.number(
    "--jobs",
    "Load a PostgreSQL database over N connections.",
    least=1,
    show_default="one for every two processors, at most 4",
)
@options.JSON
def load(folder: str, db: str | None, as_json: bool, **settings: Any) -> None:
    """Write the game in FOLDER to a database.

    FOLDER was written by `graphstore build GAME --folder FOLDER`. Every file in it is read and
    compared with the digests of the build; the folder is not changed.
    """
    from graphstore.building.from_folder import load as load_folder
    from graphstore.games import file_name
    from graphstore.store.folder.folder import Folder

    found = Folder.open(folder)
    target = file_name(str(found.info["name"])) if db is None else db
    with options.working() as progress:
        report = load_folder(found, target, progress=progress, **settings)
    print_build(report, as_json=as_json)


@click.command()
@click.argument("game")
@click.option(
    "--db",
    metavar="FILE",
    show_default="ultimate-open-strategy.db",
    help="Write to this file, or to a postgresql:// address.",
)
@options.FORCE
@options.JSON
def prove(game: str, db: str | None, force: bool, as_json: bool) -> None:
    """Write a proof that X wins ultimate tic-tac-toe to a database.

    GAME is ultimate or ultimate(open); X wins it within 43 plies. The database holds a strategy:
    one move of X and all moves of O in every position that the strategy meets. `graphstore verify`
    checks the proof with separate code.
    """
    from graphstore.building.strategy import check_name
    from graphstore.building.strategy import prove as prove_game

    check_name(game)
    with options.working() as progress:
        report = prove_game(
            "ultimate-open-strategy.db" if db is None else db, force=force, progress=progress
        )
    print_build(report, as_json=as_json)


@click.command()
@options.GAME
@click.option(
    "--plies",
    "--stones",
    type=click.IntRange(1),
    metavar="N",
    required=True,
    help="Include the positions with up to N stones, those of the first N plies.",
)
@options.DB
@options.FORCE
@options.DROP_AGENTS
@options.JSON
def book(game: str, db: str | None, as_json: bool, **settings: Any) -> None:
    """Write the first plies of GAME to a database, an opening book.

    GAME is a game of connect or mnk of any size. Positions at the last ply are solved by a search,
    and the others follow from them. `graphstore solve --book` uses the file, and other commands
    read it. After an interruption, run the same command again to resume.
    """
    from graphstore.building.book import book as build_book
    from graphstore.games import file_name, find_game

    rules = find_game(game)
    target = file_name(rules.name) if db is None else db
    try:
        with options.working() as progress:
            report = build_book(rules, target, progress=progress, **settings)
    except KeyboardInterrupt:
        options.say("solved positions are kept; run the same command again to resume")
        raise
    print_build(report, as_json=as_json)


def print_build(report: Any, *, as_json: bool) -> None:
    """Print the report of a build."""
    from graphstore.cli import console

    if as_json:
        console.print_json(report)
        return
    seconds = {f"seconds: {phase}": value for phase, value in report.seconds.items()}
    shown = {
        name: ", ".join(value) if name == "agents" else value
        for name, value in report._asdict().items()
        if name != "seconds" and (name != "agents" or value)
    }
    total = round(sum(report.seconds.values()), 4)
    console.print_report(shown | seconds | {"seconds: total": total})


@click.command()
@options.GAME
@options.BELOW
@options.JSON
def estimate(game: str, below: tuple[str, ...], as_json: bool) -> None:
    """Estimate the size, memory and time of building GAME.

    GAME is as in `graphstore build`. The estimate extrapolates the growth of the first waves and
    of random games; a small game is counted completely. The range contains about nine sizes in
    ten; "more than" is a lower bound only. The time is measured on these rules.
    """
    from graphstore.cli import console
    from graphstore.games import find_game
    from graphstore.rules.positions import read_positions
    from graphstore.solver.estimate import about, sized
    from graphstore.solver.exploration import estimate as estimate_game

    rules = find_game(game)
    with options.working() as progress:
        starts = read_positions(rules, below) if below else None
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
            "based on": f"{'all' if ahead.complete else 'the first'} {ahead.seen:,} states",
        }
    )


@click.command()
@options.GAME
@options.number("--max-positions", "Check at most N positions.", least=1, default=100_000)
@options.JSON
def check(game: str, max_positions: int, as_json: bool) -> None:
    """Check the rules of GAME and print the laws that they break.

    GAME is your own rules, FILE.py:NAME or MODULE:NAME, or a built-in game. Each broken law is
    printed once, with a position; the exit code is then 1. The positions nearest to the starts are
    checked, and symmetric ones count separately.
    """
    from graphstore.checks.laws import check_rules
    from graphstore.cli import console
    from graphstore.games import find_game

    rules = find_game(game)
    with options.working() as progress:
        found = check_rules(rules, max_positions=max_positions, progress=progress)
    if as_json:
        console.print_json(found)
    else:
        for breach in found.breaches:
            print(breach)
        if not found.breaches:
            extent = "all" if found.complete else "the first"
            print(f"{rules.name} keeps every law at {extent} {found.positions:,} positions")
            if found.orbits not in (None, found.positions):
                print(
                    f"its states stand for {found.orbits:,} positions, but play reaches only "
                    f"{found.positions:,}: not every image of a start is a start"
                )
    if found.breaches:
        count = len(found.breaches)
        options.fail(f"{rules.name} breaks {count} law{'s' * (count > 1)}; each is shown once")


@click.command()
@options.GAME
@options.POSITION
@click.option("--moves", is_flag=True, help="Also find the value of every move.")
@click.option(
    "--file",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Search every position of this file instead, one a line; - is standard input. The results "
    "are printed as they come, as CSV, or with --json as one JSON object a line.",
)
@click.option(
    "--book",
    metavar="FILE",
    help="Read the values of positions that this database has, such as one of graphstore book.",
)
@click.option(
    "--timeout",
    type=options.Number(min=0),
    metavar="SECONDS",
    show_default="no limit",
    help="Stop the search of a position after this many seconds; the value is then unknown, and "
    "the exit code 0. A position that is not read by then is an error.",
)
@options.JSON
def solve(
    game: str,
    position: str | None,
    moves: bool,
    file: str | None,
    book: str | None,
    timeout: float | None,
    as_json: bool,
) -> None:
    """Find the value of POSITION by a search, without a database.

    GAME is as in `graphstore build`. POSITION is a board, such as XO./.X./..., moves from the
    start, such as "moves:4 0 8", or the word start, which is the default. In connect and mnk, the
    plies to the end are found, too.
    """
    from graphstore.cli import console
    from graphstore.games import find_game
    from graphstore.rules.positions import START
    from graphstore.solver.search import Solver

    if file is not None and position is not None:
        raise click.UsageError("give POSITION or --file, not both")
    rules, at = find_game(game), START if position is None else position
    with ExitStack() as held, options.working() as progress:
        known = None if book is None else held.enter_context(options.opened(book))
        solver = Solver(rules, book=known)
        if file is not None:
            given = _positions(file, partial(solver.read, timeout=timeout))
            found = solver.search_all(given, moves=moves, timeout=timeout, progress=progress)
            console.print_searches(rules, found, as_json=as_json)
            return
        one = solver.search(at, moves=moves, timeout=timeout, progress=progress)
    if as_json:
        console.print_json(console.searched_record(rules, one))
    else:
        from graphstore.cli import boards  # imports rich, which JSON does not need

        boards.print_searched(rules, one)


def _positions(file: str, read: Callable[[str], int]) -> Iterator[int]:
    """Yield the position of every line of a file that is not blank."""
    from graphstore.errors import PositionError

    with click.open_file(file, "rb") as lines:
        text = options.decoded(lines.read())
    for number, line in enumerate(text.splitlines(), 1):
        try:
            if line.strip():
                yield read(line.strip())
        except PositionError as error:
            raise PositionError(f"{file}, line {number}: {error}") from None


@click.command()
@options.GAME
@options.BEGUN
@options.MAX_STATES
@options.JSON
def outcome(game: str, below: tuple[str, ...], max_states: int | None, as_json: bool) -> None:
    """Print who wins GAME if either player begins: its outcome class N, P, L or R.

    GAME is as in `graphstore build`. Left is player 1, Right is player 2. N: the player who begins
    wins; P: the other one; L: Left wins, whichever player begins; R: Right. The game has no draws,
    and two starts, the same position with each player to move; or one start that does not say whose
    turn it is. Another position is given in this way by --from.
    """
    from graphstore.cli import console
    from graphstore.games import find_game
    from graphstore.rules.positions import read_positions
    from graphstore.solver.nimbers import CLASSES, outcome_class

    rules = find_game(game)
    with options.working() as progress:
        starts = read_positions(rules, below) if below else None
        found = outcome_class(rules, starts=starts, max_states=max_states, progress=progress)
    if as_json:
        console.print_json(found)
        return
    report = {"game": found.game, "outcome": f"{found.outcome}: {CLASSES[found.outcome]}"}
    for side, position, winner in zip(
        ("Left", "Right"), found.positions, found.winners, strict=True
    ):
        report[f"{side} begins"] = f"{position}: {rules.players[winner - 1]} wins"
    console.print_report(report)
