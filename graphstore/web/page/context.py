"""The values that the template of a position's page shows."""

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
from graphstore.web.page.query import Asked

MOST_MOVES = 200
MOST_IN_LINE = 14
MOST_PARENTS = 12
MISTAKES = "mistakes=0.2"


class Pages(NamedTuple):
    """The addresses of a game's pages; all begin with `base`, which has no slash at its end."""

    base: str
    game: str

    def to(self, position: str | None, asked: Asked | None = None) -> str:
        """Return the address of a position; of the start, if it is None."""
        query = "" if asked is None else asked.query()
        return self.base + write(self.game, position) + query


def page_context(
    store: Store, probe: Probe, asked: Asked, pages: Pages, resigned: str = ""
) -> dict[str, Any]:
    """Return the template's values; `resigned` are the words of an opponent that gives up.

    AgentMissingError is raised where the address names an agent that is not in the file.
    """
    game = store.game if store.has_rules else None
    bound = store.info["extent"] == STRATEGY
    known = agents.names(store)
    agent = asked.agent or (asked.against if asked.against in known else "")
    beads = opponents.beads(store, agent, probe) if agent else {}
    over = probe.ended or bool(resigned)
    onwards = opponents.passed_on(probe, asked.onwards)

    def to(choice: Choice) -> str:
        return pages.to(choice.position, onwards)

    def here(other: Asked) -> str:
        return pages.to(probe.position, other)

    choices = board.choices(game, probe.position, probe.moves, lambda move: move_text(game, move))
    states = {choice.move: move.state for choice, move in zip(choices, probe.moves, strict=True)}

    def on_cell(choice: Choice) -> str:
        box = None if asked.hide else beads.get(states[choice.move])
        return "" if box is None else str(box[0])

    pictures.check(asked, choices)
    links = {} if over else pictures.links(choices, asked, to=to, here=here, beads=on_cell)
    turned = {} if game is None else pictures.turned(game, probe.position)
    images: dict[str, str] = {}
    for way, text in turned.items():
        images.setdefault(text, way)
    told = not asked.hide or probe.ended
    words = in_words(game, probe, bound=bound) if told else ""
    chosen = asked.source is not None
    return {
        "game": pages.game,
        "rules": store.info["name"],
        "position": probe.position,
        "state": probe.state,
        "asked": asked,
        "board": pictures.large(
            game, probe.position, links, last=asked.cell, title=f"board {probe.position}"
        ),
        "announcement": opponents.announcement(game, probe, asked, resigned, words),
        "value": WORDS[probe.value] if told else "free",
        "told": told,
        "over": over,
        "playing": bool(asked.against),
        "worth": _worth(probe, bound=bound) if told else [],
        "moves": _moves(probe, choices, asked, None if over else to, beads, bound=bound),
        "more_moves": max(0, len(probe.moves) - MOST_MOVES),
        "beads": bool(agent) and not asked.hide,
        "box": _box(agent, probe, beads) if agent and not asked.hide else "",
        "line": _line(store, game, probe, pages, asked) if told and probe.moves else None,
        "images": [
            _tile(game, text, pages.to(text, asked.onwards), name=way)
            for text, way in images.items()
            if text != probe.position
        ],
        "turns": [] if game is None else _turns(game, probe.position, turned, pages, asked),
        "parents": _parents(store, game, probe, pages, asked),
        "hide_link": here(asked._replace(hide=not asked.hide)),
        "start": pages.to(None, asked.onwards._replace(turn=1)),
        "start_plain": pages.to(None),
        "stop": here(Asked(agent=asked.agent, hide=asked.hide)),
        "unchosen": here(asked._replace(source=None, target=None)) if chosen else "",
        "form_fields": asked.onwards.fields(),
        "play_form": pages.to(probe.position),
        "opponents": _opponents(store, known),
        "players": list(opponents.player_names(game)),
        "side_now": opponents.turn(probe, asked),
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
    """Return the opponents; `left` is the only player that the user can be against one, or 0."""
    sides = {name: agents.load(store, name).settings.side for name in known}
    return [
        {"name": name, "left": 3 - side if side else 0}
        for name, side in ({"perfect": 0, "random": 0, MISTAKES: 0} | sides).items()
    ]


def _worth(probe: Probe, *, bound: bool) -> list[tuple[str, str, str]]:
    """Return (name, value, meaning) of the numbers of a position.

    Under a strategy depths are bounds, and random play means nothing, as one player has no choice.
    """
    remoteness, plies = "none", "play need never end"
    if probe.remoteness is not None:
        remoteness = f"{'at most ' * bound}{probe.remoteness:,}"
        plies = f"plies to the end under {'the strategy' if bound else 'best play'}"
    found = [
        ("ply", f"{probe.ply:,}", "moves from the start, at the fewest"),
        ("value", f"{probe.value:+d}" if probe.value else "0", "for the player to move"),
        ("remoteness", remoteness, plies),
        ("score", f"{probe.score:.4g}", "as a move, for the player who just moved"),
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
    found.append(("orbit", f"{probe.orbit:,}", "positions that are alike by symmetry"))
    return found


def _moves(
    probe: Probe,
    choices: Sequence[Choice],
    asked: Asked,
    to: Callable[[Choice], str] | None,
    beads: dict[int, tuple[int, float]],
    *,
    bound: bool,
) -> list[dict[str, Any]]:
    """Return the rows of the list of moves; `to` is None where none can be played."""
    rows = []
    pairs = list(zip(probe.moves, choices, strict=True))
    if asked.hide:  # in an order that tells nothing
        pairs.sort(key=lambda pair: pair[1].move)
    for move, choice in pairs[:MOST_MOVES]:
        box = beads.get(move.state)
        rows.append(
            {
                "name": choice.name,
                "href": "" if to is None else to(choice),
                "kind": "free" if asked.hide else WORDS[choice.value],
                "words": move_in_words(move, bound=bound),
                "depth": "" if choice.depth is None else str(choice.depth),
                "score": f"{move.score:.4g}",
                "beads": "" if box is None else f"{box[0]:,}",
                "chance": "" if box is None else f"{box[1]:.1%}",
                "chosen": asked.source is not None
                and choice.source == asked.source
                and asked.target in (None, choice.cell),
            }
        )
    return rows


def _box(agent: str, probe: Probe, beads: dict[int, tuple[int, float]]) -> str:
    if not beads:
        return f"{agent} has no box for this position."
    total = sum(number for number, _ in beads.values())
    shared = len({move.state for move in probe.moves}) < len(probe.moves)
    like = " Moves to the same position, turned, share their beads." if shared else ""
    return f"The box of {agent} has {total:,} bead{'s' * (total != 1)}.{like}"


def _line(
    store: Store, game: Game | None, probe: Probe, pages: Pages, asked: Asked
) -> dict[str, Any]:
    line = store.line(probe.position, most=MOST_IN_LINE)
    steps = []
    onwards = asked.onwards
    for at, move in enumerate(line.moves):
        before, after = line.probes[at], line.probes[at + 1]
        played = next(each for each in before.moves if each.move == move)
        (choice,) = board.choices(game, before.position, [played])
        onwards = opponents.passed_on(before, onwards)
        href = pages.to(after.position, onwards._replace(against=""))
        name = move_text(game, move)
        steps.append(_tile(game, after.position, href, name=name, last=choice.cell))
    cut = not line.repeats and not line.probes[-1].ended
    return {"steps": steps, "repeats": line.repeats, "cut": cut}


def _turns(
    game: Game, position: str, turned: dict[str, str], pages: Pages, asked: Asked
) -> list[dict[str, str]]:
    """Return the links that flip and turn the board, where that makes another one."""
    found = []
    for word, key, ways in (
        ("Flip", "f", ("mirrored", "flipped")),
        ("Turn", "r", ("turned", "turned twice")),
    ):
        way = next((way for way in ways if turned.get(way, position) != position), None)
        if way is None:
            continue
        cell = pictures.turned_cell(game, position, way, asked.cell)
        last = str(cell) if cell is not None and asked.last == str(asked.cell) else ""
        href = pages.to(turned[way], asked.onwards._replace(cell=cell, last=last))
        found.append({"word": word, "key": key, "href": href})
    return found


def _parents(
    store: Store, game: Game | None, probe: Probe, pages: Pages, asked: Asked
) -> dict[str, Any]:
    found = parents(store, probe, MOST_PARENTS)
    shown = found.shown[: 2 * MOST_PARENTS]
    before = opponents.passed_on(probe, asked.onwards)._replace(against="")
    tiles = []
    for each in shown:
        name = move_text(game, each.move) + " to its like" * (not each.exact)
        tile = _tile(game, each.position, pages.to(each.position, before), name=name)
        tiles.append(tile | {"worth": "" if asked.hide else WORDS[each.value]})
    alike = not all(each.exact for each in shown)
    return {"shown": tiles, "alike": alike, "more": found.more, "counted": found.counted}
