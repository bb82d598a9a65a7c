"""The commands that play: play, train and agents."""

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
@options.number("--seed", "The same number makes the same choices again.")
@click.option("--moves", metavar="MOVES", help='Your moves, as "4 0 8": play without a terminal.')
@click.option("--record", metavar="FILE", help="Write the game to a new file, as JSON.")
@click.option("--learn", is_flag=True, help="Let the agents that play learn from the game.")
@options.RULES
@options.JSON
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
    from graphstore.cli import console, terminal
    from graphstore.play.match import PERSON, Match
    from graphstore.play.training import learn_from, refuse_too_large

    if moves is not None and PERSON not in (you, against):
        raise click.UsageError("--moves are a person's, and nobody here is one")
    if record is not None:
        options.refuse_existing(record)
    with options.opened(file, rules) as store:
        options.say_if_without_rules(store)
        if first is None:
            from_here = store.info["start"] if position is None else position
            forced = options.is_strategy(store) and store.probe(from_here).to_move == 1
            first = "machine" if forced else "you"
        seats = (you, against) if first == "you" else (against, you)
        match = Match(store, *seats, start=position, seed=seed)
        if learn and match.agents:
            refuse_too_large(store)
        screen = console.out(talk=as_json)
        interrupted = False
        try:
            if moves is None:
                terminal.play_at_keyboard(match, screen)
            else:
                terminal.play_through(match, moves.replace(",", " ").split(), screen)
        except KeyboardInterrupt:  # what was played is recorded
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


@click.command()
@options.FILE
@click.option("--agent", default="menace", show_default=True, help="Its name; a new one is made.")
@options.number("--games", "How many to play.", default=10_000)
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
@options.number("--seed", "Of a new agent  [new: a random one]")
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
    """Let an agent learn the game of FILE by playing, and store it there.

    An agent is a MENACE: matchboxes of beads, one for each state, that win, draw and loss add to
    or take from. It goes on where it stopped, and keeps the settings that it was made with.
    """
    from graphstore.cli import console
    from graphstore.play import agents as stored
    from graphstore.play.menace import read_stages
    from graphstore.play.training import train as train_agent

    given = {name: value for name, value in settings.items() if value is not None}
    if stages is not None:
        given["stages"] = read_stages(stages)
    if side is not None:
        with options.opened(file, rules) as store:
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
@click.option("--remove", is_flag=True, help="Delete AGENT, its beads and its games.")
@options.JSON
def agents(file: str, agent: str | None, curve: str | None, remove: bool, as_json: bool) -> None:
    """List the agents of FILE; with AGENT, its games by opponent and how it has learned.

    A box is kept if all of its favourite moves, those with the most beads, keep the value of the
    position. won_by_1 and won_by_2 count games by player, X being 1.
    """
    from graphstore.cli import console
    from graphstore.play import agents as stored
    from graphstore.play import standings

    if agent is None and (curve is not None or remove):
        raise click.UsageError(f"{'--remove' if remove else '--curve'} wants an AGENT")
    if curve is not None:
        check_picture(curve)
    with options.opened(file) as store:
        if agent is None:
            rows = standings.summaries(store)
            if as_json:
                console.print_json(rows)
            elif rows:
                console.print_table(list(rows[0]), [list(row.values()) for row in rows])
            else:
                at = store.address
                click.echo(f"{at} has no agents; graphstore train {at} makes one", err=True)
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


def check_picture(path: str) -> None:
    """Raise an error for a picture that cannot be drawn, before the work."""
    from graphstore.exports.learning_curve import figure_class

    options.refuse_existing(path, ending=".png")
    figure_class()


def draw_curve(store: Any, agent: str, path: str) -> None:
    """Draw how an agent has learned."""
    from graphstore.exports.learning_curve import draw
    from graphstore.play import agents as stored
    from graphstore.play import standings

    draw(standings.curve(store, stored.load(store, agent)), agent, store.info["name"], path)
