"""Positions whose ids are hashes: between processes their texts go with the ids."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphstore.arrays import distinct, first_of_runs
from graphstore.errors import RulesError, shown
from graphstore.game import Game, Ints, PlainGame

Texts = NDArray[np.str_]
"""A text for each id that is a hash, with a full stop after it, since numpy cuts final zeros, and
nothing for the others; of no length if none is."""


def afresh(game: Game) -> Game:
    """Return the same rules, which remember no position: so that memory does not grow."""
    return game.afresh() if isinstance(game, PlainGame) else game


def spelled(game: Game, ids: Ints) -> Texts:
    """Return the texts that others need to know these ids."""
    none = np.zeros(0, dtype="U1")
    if not isinstance(game, PlainGame):
        return none
    hashed = np.flatnonzero(game.hashed(ids))
    if not hashed.size:
        return none
    told = np.array([f"{text}." for text in game.texts(ids[hashed])])
    texts = np.zeros(len(ids), dtype=told.dtype)
    texts[hashed] = told
    return texts


def meet(game: Game, ids: Ints, texts: Texts) -> None:
    """Let a game know the ids by their texts.

    Raises:
        RulesError: the game reads another position out of the text that it wrote.
    """
    hashed = np.flatnonzero(texts != "")
    if not hashed.size:
        return
    told = [text[:-1] for text in texts[hashed].tolist()]
    wrong = np.flatnonzero(game.read_many(told) != ids[hashed])
    if wrong.size:
        raise RulesError(
            f"{game.name}: parse() makes another position of {shown(told[int(wrong[0])])}, which "
            "text() wrote; out of core it must give the same one back"
        )


def merged(game: Game, ids: Sequence[Ints], texts: Sequence[Texts]) -> tuple[Ints, Texts]:
    """Return the distinct ids of several arrays, ascending, and their texts.

    Raises:
        RulesError: two texts have one id.
    """
    if not any(map(len, texts)):
        return distinct(np.concatenate(ids)), np.zeros(0, dtype="U1")
    filled = [
        told if len(told) else np.zeros(len(of), dtype="U1")
        for of, told in zip(ids, texts, strict=True)
    ]
    all_ids, all_texts = np.concatenate(ids), np.concatenate(filled)
    order = np.argsort(all_ids, kind="stable")
    all_ids, all_texts = all_ids[order], all_texts[order]
    first = first_of_runs(all_ids)
    other = np.flatnonzero(~first[1:] & (all_texts[1:] != all_texts[:-1]))
    if other.size:
        at = int(other[0])
        one, another = (shown(all_texts[row][:-1]) for row in (at, at + 1))
        raise RulesError(
            f"{game.name}: {one} and {another} share the id {all_ids[at]}; text() must tell every "
            "two positions apart, the side to move included"
        )
    return all_ids[first], all_texts[first]
