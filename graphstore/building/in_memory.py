"""Build a game into a database, with the whole graph in memory."""

import os
from collections.abc import Sequence

import numpy as np

from graphstore.building.saving import Clock, Report, save
from graphstore.errors import StoreExistsError
from graphstore.games import are_those_of, rules_of
from graphstore.rules.adapter import check_reading
from graphstore.rules.game import Game, Ints, Progress, quiet
from graphstore.rules.openspiel import reading
from graphstore.rules.plain import PlainGame
from graphstore.rules.positions import read_positions
from graphstore.solver.exploration import explore
from graphstore.store import schema
from graphstore.store.backend import REPLACE, Backend
from graphstore.store.columns import SolvedGraph
from graphstore.store.store import Store, find_backend
from graphstore.util import arguments

_STARTS = "SELECT position FROM state WHERE ply = 0 ORDER BY id"


def build(
    game: Game | PlainGame | str,
    target: str | os.PathLike[str],
    *,
    below: Sequence[str] | None = None,
    force: bool = False,
    drop_agents: bool = False,
    max_states: int | None = None,
    progress: Progress = quiet,
) -> Report:
    """Explore and solve a game and write it to a database, all or nothing.

    With `below`, only the states that play can reach from these positions are built. If the target
    was built in this way, the positions are added to its own.

    Args:
        game: the rules, or a name for `graphstore.find_game`.
        target: the file or address to write: see `Store.open`.
        below: positions to begin from, as text; by default the starts of the game.
        force: replace an existing game; its agents are kept.
        drop_agents: with `force`, delete its agents.
        max_states: the most states to allow, by default 100 million.
        progress: called with the phase, the number done and the total, if known.

    Raises:
        StoreExistsError: the target exists and `force` is not given, or it already has the
            positions of `below`.
        StoreError: the target cannot be written, or has agents that the new game cannot keep.
        RulesError, TooLargeError: see `graphstore.explore`.
        PositionError: a text of `below` is not a position.
    """
    rules = rules_of(game)
    place = find_backend(target, "target").for_game(rules.name)
    texts = None if below is None else arguments.position_texts("below", below)
    with reading(positions=arguments.limit("max_states", max_states)):
        wanted = None if texts is None else read_positions(rules, texts)
    grows = wanted is not None and not force and place.exists()

    def solved(clock: Clock) -> SolvedGraph:
        starts = wanted
        check_reading(rules, rules.start_states())
        if wanted is not None and grows:
            starts = np.concatenate((_starts_in(place.located(), rules, wanted), wanted))
        graph = explore(rules, starts=starts, max_states=max_states, progress=progress)
        check_reading(rules, graph.states.id)
        clock.lap("explore")
        return SolvedGraph(rules, graph, schema.WHOLE if wanted is None else schema.BELOW)

    return save(
        rules.name,
        place,
        solved,
        force=force or grows,
        drop_agents=drop_agents,
        progress=progress,
    )


def _starts_in(place: Backend, game: Game, new: Ints) -> Ints:
    """Return the positions from which a database was built; raise if new ones cannot be added."""
    with Store.at(place) as store:
        info = store.info
        if info["name"] != game.name or not are_those_of(game, info["name"], info["rules"]):
            raise StoreExistsError(
                f"{place.address} has {info['name']} {info['rules']}; positions of {game.name} "
                f"{game.rules} cannot be added to it; {REPLACE}"
            )
        if info["extent"] != schema.BELOW:
            kinds = {schema.WHOLE: "the whole game", schema.BOOK: "a book"}
            what = kinds.get(info["extent"], "a strategy")
            raise StoreExistsError(
                f"{place.address} has {what}; positions cannot be added to it; {REPLACE}"
            )
        starts = game.canonical(game.read_many([text for (text,) in store.sql(_STARTS)]))
    if np.isin(game.canonical(new), starts).all():
        raise StoreExistsError(f"{place.address} already has these positions; {REPLACE}")
    return starts
