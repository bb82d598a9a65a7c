"""The values for the template of a position's page."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from graphstore.play import agents
from graphstore.rules import board
from graphstore.rules.board import WORDS, Choice
from graphstore.rules.game import Game, move_text
from graphstore.store.probe import Probe
from graphstore.store.schema import STRATEGY
from graphstore.store.store import Store
from graphstore.store.words import in_words, move_in_words
from graphstore.web.addresses import write
from graphstore.web.page import opponents, pictures
from graphstore.web.page.parents import parents
from graphstore.web.page.query import Query

MOST_MOVES = 200
MOST_IN_LINE = 14
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
    store: Store, probe: Probe, query: Query, pages: Pages, resigned: str = ""
) -> dict[str, Any]:
    """Return the template's values; `resigned` is the message of an opponent that resigns.

    Raises:
        AgentMissingError: the address names an agent that is not in the file.
    """
    game = store.game if store.has_rules else None
    bound = store.info["extent"] == STRATEGY
    known = agents.names(store)
    agent = query.agent or (query.against if query.against in known else "")
    beads = opponents.beads(store, agent, probe) if agent else {}
    over = probe.ended or bool(resigned)
    onwards = opponents.after_move(probe, query.onwards)

    def to(choice: Choice) -> str:
        return pages.to(choice.position, onwards)

    def here(other: Query) -> str:
        return pages.to(probe.position, other)

    choices = board.choices(game, probe.position, probe.moves, lambda move: move_text(game, move))
    states = {choice.move: move.state for choice, move in zip(choices, probe.moves, strict=True)}

    def on_cell(choice: Choice) -> str:
        box = None if query.hide else beads.get(states[choice.move])
        return "" if box is None else str(box[0])

    pictures.check(query, choices)
    links = {} if over else pictures.links(choices, query, to=to, here=here, beads=on_cell)
    turned = {} if game is None else pictures.turned(game, probe.position)
    images: dict[str, str] = {}
    for way, text in turned.items():
        images.setdefault(text, way)
    show_values = not query.hide or probe.ended
    words = in_words(game, probe, bound=bound) if show_values else ""
    chosen = query.source is not None
    return {
        "game": pages.game,
        "rules": store.info["name"],
        "position": probe.position,
        "state": probe.state,
        "query": query,
        "board": pictures.large(
            game,
            probe.position,
            links,
            last=query.cell,
            title=f"board {probe.position}",
            strengths=pictures.strengths_of(choices, query),
        ),
        "announcement": opponents.announcement(game, probe, query, resigned, words),
        "value": WORDS[probe.value] if show_values else "free",
        "show_values": show_values,
        "over": over,
        "playing": bool(query.against),
        "worth": _worth(probe, bound=bound) if show_values else [],
        "moves": _moves(probe, choices, query, None if over else to, beads, bound=bound),
        "more_moves": max(0, len(probe.moves) - MOST_MOVES),
        "beads": bool(agent) and not query.hide,
        "box": _box(agent, probe, beads) if agent and not query.hide else "",
        "line": _line(store, game, probe, pages, query) if show_values and probe.moves else None,
        "images": [
            _tile(game, text, pages.to(text, query.onwards), name=way)
            for text, way in images.items()
            if text != probe.position
        ],
        "turns": [] if game is None else _turns(game, probe.position, turned, pages, query),
        "parents": _parents(store, game, probe, pages, query),
        "hide_link": here(query._replace(hide=not query.hide)),
        "start": pages.to(None, query.onwards._replace(turn=1)),
        "start_plain": pages.to(None),
        "stop": here(Query(agent=query.agent, hide=query.hide)),
        "unchosen": here(query._replace(source=None, target=None)) if chosen else "",
        "form_fields": query.onwards.fields(),
        "play_form": pages.to(probe.position),
        "opponents": _opponents(store, known),
        "players": list(opponents.player_names(game)),
        "side_now": opponents.turn(probe, query),
        "agents": known,
        "agent": agent,
        "bound": bound,
        "rules_known": game is not None,
    }


def _tile(
    game: Game | None, position: str, href: str, *, name: str, last: int | None = None
) -> dict[str, Any]:
    picture = pictures.little(game, position, last=last)
    return {"href": href, "board": picture, "position": position, "name": name}


def _opponents(store: Store, known: Sequence[str]) -> list[dict[str, Any]]:
    """Return the opponents; `left` is the only player left for the user, or 0 for both."""
    sides = {name: agents.load(store, name).settings.side for name in known}
    return [
        {"name": name, "left": 3 - side if side else 0}
        for name, side in ({"perfect": 0, "random": 0, MISTAKES: 0} | sides).items()
    ]


def _worth(probe: Probe, *, bound: bool) -> list[tuple[str, str, str]]:
    """Return (name, value, meaning) for each number of a position.

    In a strategy depths are bounds. Random play is left out there, as one player has no choice.
    """
    remoteness, plies = "none", "play need never end"
    if probe.remoteness is not None:
        remoteness = f"{'at most ' * bound}{probe.remoteness:,}"
        plies = f"plies to the end under {'the strategy' if bound else 'best play'}"
    found = [
        ("ply", f"{probe.ply:,}", "fewest moves from a start"),
        ("value", f"{probe.value:+d}" if probe.value else "0", "for the player to move"),
        ("remoteness", remoteness, plies),
        ("score", f"{probe.score:.4g}", "of the move that led here, for the player who just moved"),
    ]
    for name, number, meaning in (
        ("random play", probe.random_value, "mean result for the player to move"),
        (
            "best response",
            probe.best_response,
            "for the player who just moved, if the other plays at random",
        ),
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
                "kind": "free" if query.hide else WORDS[choice.value],
                "words": move_in_words(move, bound=bound),
                "depth": "" if choice.depth is None else str(choice.depth),
                "score": f"{move.score:.4g}",
                "beads": "" if box is None else f"{box[0]:,}",
                "chance": "" if box is None else f"{box[1]:.1%}",
                "chosen": query.source is not None
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


def _line(
    store: Store, game: Game | None, probe: Probe, pages: Pages, query: Query
) -> dict[str, Any]:
    line = store.line(probe.position, most=MOST_IN_LINE)
    steps = []
    onwards = query.onwards
    for at, move in enumerate(line.moves):
        before, after = line.probes[at], line.probes[at + 1]
        played = next(each for each in before.moves if each.move == move)
        (choice,) = board.choices(game, before.position, [played])
        onwards = opponents.after_move(before, onwards)
        href = pages.to(after.position, onwards._replace(against=""))
        name = move_text(game, move)
        steps.append(_tile(game, after.position, href, name=name, last=choice.cell))
    cut = not line.repeats and not line.probes[-1].ended
    return {"steps": steps, "repeats": line.repeats, "cut": cut}


def _turns(
    game: Game, position: str, turned: dict[str, str], pages: Pages, query: Query
) -> list[dict[str, str]]:
    """Return the links that flip and turn the board, if that changes it."""
    found = []
    for word, key, ways in (
        ("Flip", "f", ("mirrored", "flipped")),
        ("Turn", "r", ("turned", "turned twice")),
    ):
        way = next((way for way in ways if turned.get(way, position) != position), None)
        if way is None:
            continue
        cell = pictures.turned_cell(game, position, way, query.cell)
        last = str(cell) if cell is not None and query.last == str(query.cell) else ""
        href = pages.to(turned[way], query.onwards._replace(cell=cell, last=last))
        found.append({"word": word, "key": key, "href": href})
    return found


def _parents(
    store: Store, game: Game | None, probe: Probe, pages: Pages, query: Query
) -> dict[str, Any]:
    found = parents(store, probe, MOST_PARENTS)
    shown = found.shown[: 2 * MOST_PARENTS]
    before = opponents.after_move(probe, query.onwards)._replace(against="")
    tiles = []
    for each in shown:
        name = move_text(game, each.move) + " (by symmetry)" * (not each.exact)
        tile = _tile(game, each.position, pages.to(each.position, before), name=name)
        tiles.append(tile | {"worth": "" if query.hide else WORDS[each.value]})
    alike = not all(each.exact for each in shown)
    return {"shown": tiles, "alike": alike, "more": found.more, "counted": found.counted}
