"""The values for the template of a position's page."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from graphstore.play import agents
from graphstore.play.opponents import is_agent_name, spoken
from graphstore.play.players import Player
from graphstore.play.searched import SearchedGame
from graphstore.rules import board, notebook
from graphstore.rules.board import WORDS, Choice
from graphstore.rules.game import Game, move_text
from graphstore.store.format import STRATEGY
from graphstore.store.probe import Probe
from graphstore.store.store import Store
from graphstore.store.words import in_words, move_in_words, signed
from graphstore.web.addresses import write
from graphstore.web.page import opponents, pictures, review
from graphstore.web.page.parents import parents
from graphstore.web.page.query import Query
from graphstore.web.page.setup import can_set_up
from graphstore.web.page.story import Story

MOST_MOVES = 200
MOST_IN_LINE = 7
MOST_PARENTS = 12
MISTAKES = "mistakes=0.2"


class Pages(NamedTuple):
    """The addresses of a game's pages; all begin with `base`, which does not end in a slash."""

    base: str
    game: str

    def to(self, position: str | None, query: Query | None = None) -> str:
        """Return the address of a position, or of the start if it is None."""
        return self.base + write(self.game, position) + ("" if query is None else query.text())


def page_context(
    store: Store, story: Story, query: Query, pages: Pages, resigned: str = ""
) -> dict[str, Any]:
    """Return the template's values; `resigned` is the message of an opponent that resigns.

    Raises:
        AgentMissingError: the address names an agent that is not in the file.
    """
    game, namer, probe = story.game, store.namer, story.probe
    stored = not isinstance(store, SearchedGame)
    bound = store.info["extent"] == STRATEGY
    known = agents.names(store) if stored else []
    agent = query.agent or (query.against if query.against in known else "")
    beads = opponents.beads(store, agent, probe) if agent else {}
    over = probe.ended or bool(resigned)
    playing = bool(query.against)
    # The query of links to positions of the game, which do not play on.
    looking = query._replace(against="", side=0, hide=query.hide and not over)

    def to(choice: Choice) -> str:
        return pages.to(choice.position, story.then(query, choice.name))

    def here(other: Query) -> str:
        return pages.to(probe.position, other)

    def step(number: int) -> str:
        return pages.to(story.probes[number].position, story.to(looking, number))

    choices = board.choices(game, probe.position, probe.moves, partial(move_text, namer))
    states = {move.move: move.state for move in probe.moves}

    def on_cell(choice: Choice) -> str:
        box = None if query.hide else beads.get(states[choice.move])
        return "" if box is None else _short(box[0])

    pictures.check(query, choices)
    links = {} if over else pictures.links(choices, query, to=to, here=here, beads=on_cell)
    turned = {} if game is None else pictures.turned(game, probe.position)
    images: dict[str, str] = {}
    for way, text in turned.items():
        images.setdefault(text, way)
    show_values = not query.hide or probe.ended
    agent_shown = agent and not query.hide
    known_turn = probe._replace(to_move=story.mover() if story.moves or playing else probe.to_move)
    words = in_words(game, known_turn, bound=bound) if show_values else ""
    picture = pictures.large(
        game,
        probe.position,
        links,
        last=_last(story),
        title=f"board {probe.position}",
        mover=story.told(),
    )
    ended = over and playing
    value = -probe.value if ended and story.mover() != query.side else probe.value
    swapped = ended and not Player(store, query.against).side
    again = query.onwards._replace(turn=story.turn)
    first, alone = story.begun or None, story.to(Query(), story.at)
    return {
        "game": pages.game,
        "rules": store.info["name"],
        "position": probe.position,
        "state": probe.state,
        "query": query,
        "board": picture,
        "announcement": opponents.announcement(story, query, resigned, words),
        "value": WORDS.get(value, "free") if show_values else "free",
        "more": None if stored else {},
        "show_values": show_values,
        "over": over,
        "playing": playing,
        "opponent": spoken(query.against) if playing else "",
        "again": pages.to(first, again) if ended else "",
        "swap": pages.to(first, again._replace(side=3 - query.side)) if swapped else "",
        "worth": _worth(probe, choices, bound=bound) if show_values else [],
        "moves": _moves(probe, choices, query, None if over else to, beads, bound=bound),
        "more_moves": max(0, len(probe.moves) - MOST_MOVES),
        "beads": bool(agent_shown),
        "box": _box(agent, probe, beads) if agent_shown else "",
        "learning": review.learning(store, agents.load(store, agent)) if agent_shown else None,
        "line": _line(store, story, pages, looking)
        if show_values and probe.moves and stored
        else None,
        "images": [
            _tile(game, text, pages.to(text, story.alone(query)), name=way, mover=story.told())
            for text, way in images.items()
            if text != probe.position
        ],
        "turns": [] if game is None else _turns(game, story, turned, pages, query),
        "parents": _parents(store, story, pages, looking) if stored else {},
        "story": review.moves(story, step, show=show_values),
        "strip": review.strip(story, step) if show_values and story.moves else "",
        "steps": _steps(story, step, over=over, playing=playing),
        "forward": _forward(story, looking, pages, show=show_values and not playing),
        "undo": _undo(story, query, pages),
        "hide_link": here(story.to(query, story.at)._replace(hide=not query.hide)),
        "start": pages.to(None, query.onwards._replace(turn=1)),
        "start_plain": pages.to(None),
        "graph": stored and step(story.at).replace("/-/explore/", "/-/graph/", 1) + "#node1",
        "stop": here(story.to(looking, story.at)._replace(agent=query.agent)),
        "unchosen": here(story.to(query, story.at)) if query.source is not None else "",
        "form_fields": query.onwards._replace(turn=1).fields(),
        "play_fields": [] if over else story.to(Query(), story.at, cut=True).fields(),
        "agent_fields": story.to(query._replace(agent="", hide=False), story.at).fields(),
        "play_form": pages.to(probe.position),
        "setup": here(Query(view="setup")) if stored and can_set_up(game, probe.position) else "",
        "svg": here(alone._replace(view="svg")) if picture.startswith("<svg") else "",
        "opponents": _opponents(store, known),
        "players": list(opponents.player_names(game)),
        "side_now": story.mover(),
        "agents": known,
        "agent": agent,
        "bound": bound,
        "rules_known": game is not None,
    }


def picture_alone(story: Story) -> str:
    """Return the shown position as an SVG that needs no style sheet of the page."""
    text, mover = story.probe.position, story.told()
    return notebook.picture(text, game=story.game, last=_last(story), mover=mover)


def _last(story: Story) -> int | None:
    """Return the cell of the move that led to the shown position."""
    if not story.at:
        return None
    before, move = story.probes[story.at - 1], story.moves[story.at - 1]
    (choice,) = board.choices(story.game, before.position, [move])
    return choice.cell


def _steps(
    story: Story, step: Callable[[int], str], *, over: bool, playing: bool
) -> list[tuple[str, str, str, str]]:
    """Return (text, name, key, address) of the links through the game; none during play."""
    last = len(story.moves)
    if not last or (playing and not over):
        return []
    return [
        ("«", "first position", "", step(0) if story.at else ""),
        ("\u2039", "back", ",", step(story.at - 1) if story.at else ""),
        ("»", "last position", "", step(last) if story.at < last else ""),
    ]


def _forward(story: Story, query: Query, pages: Pages, *, show: bool) -> tuple[str, str] | None:
    """Return (name, address) of the next move of the game or else, with `show`, of the best."""
    if story.at < len(story.moves):
        after = story.probes[story.at + 1].position
        return "next move", pages.to(after, story.to(query, story.at + 1))
    if not show or not story.probe.moves or None in (story.probe.value, story.probe.moves[0].value):
        return None
    best = story.probe.moves[0].position
    return "best move", pages.to(best, story.then(query, story.best(story.at)))


def _undo(story: Story, query: Query, pages: Pages) -> str:
    """Return the address before the last move or, against an opponent, before the user's last."""
    at = story.at - 1
    while at >= 0 and query.against and story.mover(at) != query.side:
        at -= 1
    if at < 0:
        return ""
    return pages.to(story.probes[at].position, story.to(query, at, cut=True))


def _short(number: int) -> str:
    """Return a number of beads for a cell, which has room for five digits."""
    return str(number) if number < 100_000 else f"{number / 1000:,.0f}k"


def _tile(
    game: Game | None,
    position: str,
    href: str,
    *,
    name: str,
    last: int | None = None,
    mover: int = 0,
) -> dict[str, Any]:
    picture = pictures.little(game, position, last=last, mover=mover)
    return {"href": href, "board": picture, "position": position, "name": name}


def _opponents(store: Store, known: Sequence[str]) -> list[dict[str, Any]]:
    """Return the opponents; `left` is the only player left for the user, or 0 for both."""
    sides = {name: agents.load(store, name).settings.side for name in known if is_agent_name(name)}
    return [
        {"name": name, "spoken": spoken(name), "left": 3 - side if side else 0}
        for name, side in ({"perfect": 0, MISTAKES: 0, "random": 0} | sides).items()
    ]


def _worth(probe: Probe, choices: Sequence[Choice], *, bound: bool) -> list[tuple[str, str, str]]:
    """Return (name, value, meaning) for each number of a position.

    In a strategy depths are bounds. Random play is left out there, as one player has no choice.
    """
    remoteness, plies = "none", "play need never end"
    if probe.remoteness is not None:
        remoteness = f"{'at most ' * bound}{probe.remoteness:,}"
        plies = f"plies to the end under {'the strategy' if bound else 'best play'}"
    value = ("value", f"{probe.value:+d}" if probe.value else "0", "for the player to move")
    if probe.score is None:  # searched without a database
        known = [("remoteness", remoteness, plies)] * (probe.remoteness is not None)
        return [] if probe.value is None else [value, *known]
    found = [
        ("ply", f"{probe.ply:,}", "fewest moves from a start"),
        value,
        ("remoteness", remoteness, plies),
        ("score", f"{probe.score:.4g}", "of the move that led here, for the player who just moved"),
    ]
    if probe.margin is not None:
        difference = "for the player to move, if both play for the difference of the scores"
        found.append(("margin", str(signed(probe.margin)), difference))
        best = {move.move for move in probe.by("margin").best}
        names = " ".join(choice.name for choice in choices if choice.move in best)
        if names:
            found.append(("best by margin", names, "moves with the greatest margin"))
    if probe.nimber is not None:
        found.append(("nimber", f"{probe.nimber:,}", "the heap of nim that it is worth in a sum"))
    mean = "mean result for the player to move"
    response = "for the player who just moved, if the other plays at random"
    for name, number, meaning in (
        ("random play", probe.random_value, mean),
        ("best response", probe.best_response, response),
    ):
        if number is not None and not bound:
            found.append((name, f"{number:+.4f}", meaning))
    found.append(("orbit", f"{probe.orbit:,}", "positions that are the same by symmetry"))
    return found


def _moves(
    probe: Probe,
    choices: Sequence[Choice],
    query: Query,
    to: Callable[[Choice], str] | None,
    beads: dict[int, tuple[int, float]],
    *,
    bound: bool,
) -> list[dict[str, Any]]:
    """Return the rows of the list of moves; `to` is None if the game is over."""
    rows = []
    pairs = list(zip(probe.moves, choices, strict=True))
    if query.hide:  # in an order that does not show which are best
        pairs.sort(key=lambda pair: pair[1].move)
    for move, choice in pairs[:MOST_MOVES]:
        box = beads.get(move.state)
        rows.append(
            {
                "name": choice.name,
                "href": "" if to is None else to(choice),
                "kind": "free" if query.hide else WORDS.get(choice.value, "free"),
                "words": move_in_words(move, bound=bound),
                "depth": "" if choice.depth is None else str(choice.depth),
                "score": "" if move.score is None else f"{move.score:.4g}",
                "beads": "" if box is None else f"{box[0]:,}",
                "chance": "" if box is None else f"{box[1]:.1%}",
                "bar": "" if box is None else review.bar(box[1]),
                "chosen": (query.source, query.target) != (None, None)
                and choice.source == query.source
                and query.target in (None, choice.cell),
                "cell": choice.cell if choice.source == query.source else choice.source,
            }
        )
    return rows


def _box(agent: str, probe: Probe, beads: dict[int, tuple[int, float]]) -> str:
    if not beads:
        return f"{agent} has no box for this position."
    total = sum(number for number, _ in beads.values())
    shared = len({move.state for move in probe.moves}) < len(probe.moves)
    like = " Moves that lead to symmetric positions share their beads." if shared else ""
    return f"The box of {agent} has {total:,} bead{'s' * (total != 1)}.{like}"


def _line(store: Store, story: Story, pages: Pages, query: Query) -> dict[str, Any]:
    line = store.line(story.probe.position, most=MOST_IN_LINE)
    steps, names = [], []
    for before, after, number in zip(line.probes, line.probes[1:], line.moves, strict=False):
        played = next(each for each in before.moves if each.move == number)
        (choice,) = board.choices(story.game, before.position, [played])
        names.append(move_text(store.namer, number))
        href = pages.to(after.position, story.then(query, *names))
        mover = story.told(len(names))
        last = choice.cell
        steps.append(
            _tile(story.game, after.position, href, name=names[-1], last=last, mover=mover)
        )
    cut = not line.repeats and not line.probes[-1].ended
    return {"steps": steps, "repeats": line.repeats, "cut": cut}


def _turns(
    game: Game, story: Story, turned: dict[str, str], pages: Pages, query: Query
) -> list[dict[str, str]]:
    """Return the links that flip and turn the board, if that changes it."""
    found, position = [], story.probe.position
    for word, key, ways in (
        ("Flip", "f", ("mirrored", "flipped")),
        ("Turn", "r", ("turned", "turned twice")),
    ):
        way = next((way for way in ways if turned.get(way, position) != position), None)
        if way is None:
            continue
        href = pages.to(turned[way], story.alone(query))
        if story.moves:  # the moves are turned only if the link is followed
            href = pages.to(position, story.to(query, story.at)._replace(flip=way))
        found.append({"word": word, "key": key, "href": href})
    return found


def _parents(store: Store, story: Story, pages: Pages, query: Query) -> dict[str, Any]:
    found = parents(store, story.probe, MOST_PARENTS)
    shown, before, tiles = found.shown[: 2 * MOST_PARENTS], story.alone(query, 1), []
    for each in shown:
        name = move_text(store.namer, each.move) + " (by symmetry)" * (not each.exact)
        href = pages.to(each.position, before)
        tile = _tile(story.game, each.position, href, name=name, mover=story.told(1))
        tiles.append(tile | {"worth": "" if query.hide else WORDS[each.value]})
    alike = not all(each.exact for each in shown)
    return {"shown": tiles, "alike": alike, "more": found.more, "counted": found.counted}
