"""The commands play, train and agents."""

from collections.abc import Callable
from functools import partial
from typing import Any

import click

from graphstore.cli import options
from graphstore.util.files import new_file


@click.command()
@options.FILE
@options.POSITION
@click.option(
    "--against",
    default="perfect",
    show_default=True,
    metavar="OPPONENT",
    help="Play against perfect, random, mistakes=P with P from 0 to 1, an agent of FILE, or "
    "person.",
)
@click.option(
    "--you",
    default="person",
    show_default=True,
    metavar="OPPONENT",
    help="Let this opponent play your side, so that you watch.",
)
@click.option(
    "--first",
    type=click.Choice(["you", "machine"]),
    show_default="you; in a strategy of X, the machine if X is to move",
    help="Let this side make the first move.",
)
@options.BY
@options.number(
    "--seed",
    "Seed the random choices of the opponent; the same seed repeats them.",
    show_default="a random one, which is recorded",
)
@click.option(
    "--seconds",
    type=options.Number(min=0),
    default=5,
    show_default=True,
    metavar="S",
    help="In a game without a database, search S seconds for a reply or a hint.",
)
@click.option(
    "--moves", metavar="MOVES", help='Play these moves, such as "4 0 8", without a terminal.'
)
@click.option("--record", metavar="FILE", help="Write the match to a new file, as JSON.")
@click.option("--learn", is_flag=True, help="Let the agents that play learn from the match.")
@options.RULES
@options.json("Print the record of the match as JSON; boards and questions go to standard error.")
def play(
    file: str,
    position: str | None,
    against: str,
    you: str,
    first: str | None,
    by: str,
    seed: int | None,
    seconds: float,
    moves: str | None,
    record: str | None,
    learn: bool,
    rules: str | None,
    as_json: bool,
) -> None:
    """Play the game of FILE in the terminal.

    The match begins at POSITION, by default the start. The opponent looks its moves up in FILE, so
    a perfect one never gives away a win or a draw. FILE may be the name of a small game, as in
    `graphstore show`. Positions of other games, such as connect(7,6) or FILE.py:NAME, are searched:
    the opponent says when the search did not end in time. During the match, ? lists the commands.
    """
    from graphstore.cli import boards, console, terminal
    from graphstore.play.match import PERSON, Match

    if moves is not None and PERSON not in (you, against):
        raise click.UsageError(
            "--moves are your moves, but --you gives your side to a machine; leave out one of them"
        )
    if record is not None:
        options.refuse_existing(record)
    opened = (
        partial(options.opened, repair=True)
        if learn
        else partial(options.opened_or_built, seconds=seconds)
    )
    with opened(file, rules) as store:
        options.say_if_without_rules(store)
        if first is None:
            first = "you"
            if options.is_strategy(store):
                here = store.start() if position is None else store.probe(position)
                first = "machine" if here.to_move == 1 else "you"
        seats = (you, against) if first == "you" else (against, you)
        match = Match(store, *seats, start=position, by=by, seconds=seconds, seed=seed)
        if learn:
            from graphstore.play.training import learn_from, refuse_match

            if match.agents:
                refuse_match(match)
        screen = boards.out(stderr=as_json)
        interrupted = False
        try:
            if moves is None:
                terminal.play_at_keyboard(match, screen)
            else:
                terminal.play_through(match, moves.replace(",", " ").split(), screen)
        except KeyboardInterrupt:  # the moves so far are recorded
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


def _beads(name: str, default: str, after: str) -> Callable[[options.F], options.F]:
    text = f"New agent: beads to add for each of its moves after {after}"
    return click.option(name, type=int, metavar="N", show_default=default, help=text)


@click.command()
@options.FILE
@click.option(
    "--agent",
    default="menace",
    show_default=True,
    metavar="NAME",
    help="Train the agent of this name; create it if it does not exist.",
)
@options.number("--games", "Play N games.", default=10_000)
@click.option(
    "--against",
    metavar="OPPONENT",
    show_default="self if the agent learns both sides, else perfect",
    help="Play against self, perfect, random, mistakes=P, or another agent.",
)
@click.option(
    "--as",
    "side",
    metavar="PLAYER",
    show_default="both",
    help="New agent: learn to be this player, X, O, 1 or 2, or both.",
)
@click.option(
    "--stages",
    metavar="N/N/...",
    show_default="4/3/2/1",
    help="New agent: beads for each move in a box of its first move, its second, and so on.",
)
@_beads("--win", "3", "a win.")
@_beads("--draw", "1", "a draw.")
@_beads("--loss", "-1", "a loss; a negative N removes them.")
@click.option(
    "--empty",
    type=click.Choice(["refill", "resign"]),
    show_default="refill",
    help="New agent: at an empty box, refill the box or resign the game.",
)
@click.option(
    "--longest",
    type=int,
    metavar="N",
    show_default="1000",
    help="New agent: plies after which a game is ended as a draw.",
)
@options.number("--seed", "New agent: the seed of its random choices.", show_default="a random one")
@options.CURVE
@options.RULES
@options.JSON
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
    """Train an agent to play the game of FILE, and store it there.

    The agent is a MENACE: it has a matchbox of beads for each state, and beads of one kind for each
    move. It draws its move as a bead; after each game it adds beads to the boxes that it used, or
    removes them.

    An existing agent continues where it stopped and keeps its settings; the options for a new agent
    must be left out or repeat them.
    """
    from graphstore.cli import console
    from graphstore.play import agents as stored
    from graphstore.play.menace import read_stages
    from graphstore.play.training import train as train_agent

    given = {name: value for name, value in settings.items() if value is not None}
    if stages is not None:
        given["stages"] = read_stages(stages)
    if side is not None:
        with options.opened(file, rules, repair=True) as store:
            given["side"] = player_number(store, side)
    if curve is not None:
        check_picture(curve)
    try:
        with options.working() as progress:
            report = train_agent(
                file, agent, games=games, against=against, seed=seed, progress=progress, **given
            )
    except KeyboardInterrupt:
        with options.opened(file) as store:
            known = stored.find(store, agent)
        kept = "nothing was stored" if known is None else f"{agent} has {known.games:,} games now"
        options.fail(f"interrupted; {kept}", 130)
    if curve is not None:
        with options.opened(file) as store:
            draw_curve(store, agent, curve)
    if as_json:
        console.print_json(report)
    else:
        console.print_report(report._asdict() | {"seed": str(report.seed)})


@click.command()
@options.FILE
@click.argument("agent", required=False)
@options.CURVE
@click.option("--remove", is_flag=True, help="Delete AGENT with its beads and games.")
@options.JSON
def agents(file: str, agent: str | None, curve: str | None, remove: bool, as_json: bool) -> None:
    """List the agents of FILE, or the results of one AGENT.

    With AGENT, print its games by opponent and its learning curve. The column kept counts boxes in
    which all moves with the most beads keep the value of the position; won_by_1 and won_by_2 count
    the games that players 1 and 2 have won. X is player 1.
    """
    from graphstore.cli import console
    from graphstore.play import agents as stored
    from graphstore.play import standings
    from graphstore.store.format import BOOK, STRATEGY

    if agent is None and (curve is not None or remove):
        raise click.UsageError(f"{'--remove' if remove else '--curve'} needs an AGENT")
    if curve is not None:
        check_picture(curve)
    with options.opened(file, repair=remove) as store:
        if agent is None:
            rows = standings.summaries(store)
            if as_json:
                console.print_json(rows)
            elif rows:
                console.print_table(list(rows[0]), [list(row.values()) for row in rows])
            else:
                at, trains = store.address, store.info["extent"] not in (STRATEGY, BOOK)
                advice = f"; graphstore train {at} creates one" if trains else ""
                click.echo(f"{at} has no agents{advice}", err=True)
            return
        if remove:
            stored.remove(store, agent)
            click.echo(f"{agent} is removed from {store.address}", err=True)
            return
        known = stored.load(store, agent)
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
    """Return 1 or 2 for the name or number of a player, 0 for both."""
    names = [name.lower() for name in (store.game.players if store.has_rules else ())]
    if text.lower() == "both":
        return 0
    if text in ("1", "2"):
        return int(text)
    if text.lower() in names:
        return names.index(text.lower()) + 1
    known = ", ".join(store.game.players if store.has_rules else ())
    known = f"{known}, 1, 2 or both" if known else "1, 2 or both; other names need --rules"
    raise click.UsageError(f"--as {text}: there is no such player; give {known}")


def check_picture(path: str) -> None:
    """Raise an error early if a picture cannot be drawn to this file."""
    from graphstore.exports.learning_curve import figure_class

    options.refuse_existing(path, ending=".png")
    figure_class()


def draw_curve(store: Any, agent: str, path: str) -> None:
    """Draw the learning curve of an agent."""
    from graphstore.exports.learning_curve import about, draw
    from graphstore.play import agents as stored
    from graphstore.play import standings

    known = stored.load(store, agent)
    learned, name = standings.curve(store, known), store.info["name"]
    draw(learned, agent, name, path, about=about(store, known))
