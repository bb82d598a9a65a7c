"""What the page of a position says, put together from the database; all of it plain values."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from graphstore.play import agents
from graphstore.rules import board
from graphstore.rules.board import WORDS, Choice
from graphstore.rules.game import Game, NamesMoves, move_text
from graphstore.store.probe import Move, Probe
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
    """Where the pages of a game are.

    Attributes:
        base: what all addresses begin with, without a slash at its end.
        game: what the game is called here.
    """

    base: str
    game: str

    def to(self, position: str | None, asked: Asked | None = None) -> str:
        """Return the address of a position; without one, of the start."""
        query = "" if asked is None else asked.query()
        return self.base + write(self.game, position) + query


def facts(
    store: Store, probe: Probe, asked: Asked, pages: Pages, resigned: str = ""
) -> dict[str, Any]:
    """Return what the template of a position's page shows.

    Args:
        store: the solved game.
        probe: the position.
        asked: what else the address asks.
        pages: where the pages of the game are.
        resigned: the words of an opponent that gives up.

    Raises:
        AgentMissingError: there is no such agent.
    """
    game = store.game if store.has_rules else None
    bound = store.info["extent"] == STRATEGY
    known = agents.names(store)
    agent = asked.agent or (asked.against if asked.against in known else "")
    beads = opponents.beads(store, agent, probe) if agent else None
    playing = bool(asked.against)
    over = probe.ended or bool(resigned)
    onwards = opponents.passed_on(probe, asked.onwards)

    def to(choice: Choice) -> str:
        return pages.to(choice.position, onwards)

    def here(other: Asked) -> str:
        return pages.to(probe.position, other)

    choices = board.choices(game, probe.position, probe.moves, lambda move: move_text(game, move))
    by_move = {choice.move: move for choice, move in zip(choices, probe.moves, strict=True)}

    def on_cell(choice: Choice) -> str:
        box = None if beads is None or asked.hide else beads.of(by_move[choice.move])
        return "" if box is None else str(box[0])

    pictures.check(asked, choices)
    links = {} if over else pictures.links(choices, asked, to=to, here=here, beads=on_cell)
    worth = in_words(game, probe, bound=bound)
    turned = pictures.turned(game, probe.position) if game is not None else {}
    told = not asked.hide or probe.ended
    return {
        "game": pages.game,
        "rules": store.info["name"],
        "position": probe.position,
        "state": probe.state,
        "asked": asked,
        "board": pictures.large(
            game, probe.position, links, last=asked.cell, title=f"board {probe.position}"
        ),
        "has_cells": bool(links),
        "announcement": opponents.announcement(game, probe, asked, resigned, worth if told else ""),
        "value": WORDS[probe.value] if told else "free",
        "told": told,
        "over": over,
        "playing": playing,
        "facts": _facts(probe, bound=bound) if told else [],
        "moves": _moves(probe.moves, choices, asked, to, beads, bound, over),
        "more_moves": max(0, len(probe.moves) - MOST_MOVES),
        "beads": beads is not None and not asked.hide,
        "box": "" if asked.hide else _box(agent, beads),
        "line": _line(store, game, probe, pages, asked) if told and probe.moves else None,
        "images": _images(game, probe, turned, pages, asked),
        "turns": [] if game is None else _turns(game, probe.position, turned, pages, asked),
        "parents": _parents(store, game, probe, pages, asked),
        "hide_link": here(asked._replace(hide=not asked.hide)),
        "start": pages.to(None, asked.onwards._replace(turn=1)),
        "start_plain": pages.to(None),
        "stop": here(Asked(agent=asked.agent, hide=asked.hide)),
        "unchosen": here(asked._replace(source=None, target=None))
        if asked.source is not None
        else "",
        "form": pages.to(None),
        "form_fields": asked.onwards.fields(),
        "play_form": pages.to(probe.position),
        "opponents": _opponents(store, known),
        "players": list(opponents.player_names(game)),
        "side_now": opponents.turn(probe, asked),
        "agents": known,
        "agent": agent,
        "bound": bound,
        "rules_known": game is not None,
        "names_moves": isinstance(game, NamesMoves),
    }


def _opponents(store: Store, known: Sequence[str]) -> list[dict[str, Any]]:
    """Return whom one can play, and which player one can only be against those."""
    found: list[dict[str, Any]] = [
        {"name": name, "left": 0} for name in ("perfect", "random", MISTAKES)
    ]
    for name in known:
        side = agents.load(store, name).settings.side
        found.append({"name": name, "left": 3 - side if side else 0})
    return found


def _facts(probe: Probe, *, bound: bool) -> list[tuple[str, str, str]]:
    """Return (what, how much, what that means) of a position.

    Under a strategy depths are bounds, and random play means nothing, as one player has no choice.
    """
    found = [
        ("ply", f"{probe.ply:,}", "moves from the start, at the fewest"),
        ("value", f"{probe.value:+d}" if probe.value else "0", "for the player to move"),
        ("remoteness", "none", "play need never end")
        if probe.remoteness is None
        else ("remoteness", f"at most {probe.remoteness:,}", "plies to the end under the strategy")
        if bound
        else ("remoteness", f"{probe.remoteness:,}", "plies to the end under best play"),
        ("score", f"{probe.score:.4g}", "as a move, for the player who just moved"),
    ]
    if probe.random_value is not None and not bound:
        found.append(
            ("random play", f"{probe.random_value:+.4f}", "mean result for the player to move")
        )
    if probe.best_response is not None and not bound:
        found.append(
            (
                "best response",
                f"{probe.best_response:+.4f}",
                "for the player who just moved, if the other plays at random",
            )
        )
    found.append(("orbit", f"{probe.orbit:,}", "positions that are alike by symmetry"))
    return found


def _moves(
    moves: Sequence[Move],
    choices: Sequence[Choice],
    asked: Asked,
    to: Any,
    beads: opponents.Beads | None,
    bound: bool,
    over: bool,
) -> list[dict[str, Any]]:
    rows = []
    pairs = list(zip(moves, choices, strict=True))
    if asked.hide:  # in an order that tells nothing
        pairs.sort(key=lambda pair: pair[1].move)
    for move, choice in pairs[:MOST_MOVES]:
        box = None if beads is None else beads.of(move)
        rows.append(
            {
                "name": choice.name,
                "href": "" if over else to(choice),
                "kind": "free" if asked.hide else WORDS[choice.value],
                "words": move_in_words(move, bound=bound),
                "label": choice.label,
                "depth": "" if choice.depth is None else str(choice.depth),
                "score": f"{move.score:.4g}",
                "position": choice.position,
                "beads": "" if box is None else f"{box[0]:,}",
                "chance": "" if box is None else f"{box[1]:.1%}",
                "chosen": asked.source is not None
                and choice.source == asked.source
                and asked.target in (None, choice.cell),
            }
        )
    return rows


def _box(agent: str, beads: opponents.Beads | None) -> str:
    if beads is None:
        return ""
    if not beads.number:
        return f"{agent} has no box for this position."
    total = sum(beads.number.values())
    shared = any(number > 1 for number in beads.sharing.values())
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
        steps.append(
            {
                "name": move_text(game, move),
                "href": pages.to(after.position, onwards._replace(against="")),
                "board": pictures.little(game, after.position, last=choice.cell),
                "position": after.position,
            }
        )
    cut = not line.repeats and not line.probes[-1].ended
    return {"steps": steps, "repeats": line.repeats, "cut": cut}


def _images(
    game: Game | None, probe: Probe, turned: dict[str, str], pages: Pages, asked: Asked
) -> list[dict[str, Any]]:
    found: dict[str, str] = {}
    for what, text in turned.items():
        if text != probe.position:
            found.setdefault(text, what)
    return [
        {
            "what": what,
            "href": pages.to(text, asked.onwards),
            "board": pictures.little(game, text),
            "position": text,
        }
        for text, what in found.items()
    ]


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
    return {
        "shown": [
            {
                "href": pages.to(each.position, before),
                "board": pictures.little(game, each.position),
                "position": each.position,
                "move": move_text(game, each.move) + (" to its like" * (not each.exact)),
                "worth": "" if asked.hide else WORDS[each.value],
            }
            for each in shown
        ],
        "alike": not all(each.exact for each in shown),
        "more": found.more,
        "counted": found.counted,
    }
