"""Positions whose ids are hashes: between processes their texts go with the ids."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import RulesError, shown
from graphstore.rules.game import Game, Ints
from graphstore.rules.plain import PlainGame
from graphstore.util.arrays import distinct, first_of_runs, member

Texts = NDArray[np.str_]
"""A text for each id that is a hash, with a full stop after it, since numpy cuts final zeros, and
nothing for the others; of no length if none is."""

NO_TEXTS: Final = np.zeros(0, dtype="U1")


def spelled(game: Game, ids: Ints) -> Texts:
    """Return the texts that others need to know these ids."""
    if not isinstance(game, PlainGame):
        return NO_TEXTS
    hashed = np.flatnonzero(game.hashed(ids))
    if not hashed.size:
        return NO_TEXTS
    told = np.array([f"{text}." for text in game.spelled(ids[hashed])])
    texts = np.zeros(len(ids), dtype=told.dtype)
    texts[hashed] = told
    return texts


def meet(game: Game, ids: Ints, texts: Texts) -> None:
    """Let a game know the ids by their texts, which are those that it has `spelled`."""
    hashed = np.flatnonzero(texts != "")
    if not hashed.size:
        return
    told = [text[:-1] for text in texts[hashed].tolist()]
    wrong = np.flatnonzero(game.read_many(told) != ids[hashed])
    if wrong.size:
        raise RulesError(
            f"{game.name}: parse() does not make the same position of {shown(told[int(wrong[0])])} "
            "every time; it must"
        )


def agree(game: Game, asked: tuple[Ints, Texts], known: tuple[Ints, Texts]) -> None:
    """Check that no id, of those asked for and those known, ascending, has two texts."""
    if len(asked[1]) or len(known[1]):
        rows = np.flatnonzero(member(asked[0], known[0]))
        at = np.searchsorted(known[0], asked[0][rows])
        one, other = _filled(*asked)[rows], _filled(*known)[at]
        for first in np.flatnonzero(one != other)[:1]:
            raise _shared(game, int(asked[0][rows[first]]), other[first], one[first])


def merged(game: Game, ids: Sequence[Ints], texts: Sequence[Texts]) -> tuple[Ints, Texts]:
    """Return the distinct ids of several arrays, ascending, and their texts."""
    if not any(map(len, texts)):
        return distinct(np.concatenate(ids)), NO_TEXTS
    filled = [_filled(of, told) for of, told in zip(ids, texts, strict=True)]
    all_ids, all_texts = np.concatenate(ids), np.concatenate(filled)
    order = np.argsort(all_ids, kind="stable")
    all_ids, all_texts = all_ids[order], all_texts[order]
    first = first_of_runs(all_ids)
    for at in np.flatnonzero(~first[1:] & (all_texts[1:] != all_texts[:-1]))[:1]:
        raise _shared(game, int(all_ids[at]), all_texts[at], all_texts[at + 1])
    return all_ids[first], all_texts[first]


def _filled(ids: Ints, texts: Texts) -> Texts:
    """Return a text for each id, also where none is a hash."""
    return texts if len(texts) else np.zeros(len(ids), dtype="U1")


def _shared(game: Game, state: int, *texts: str) -> RulesError:
    """Return what is wrong with an id that has two texts, or is one position and a text's hash."""
    one, another = (shown(text[:-1]) if text else str(state) for text in texts)
    return RulesError(
        f"{game.name}: {one} and {another} share the id {state}; text() must tell every two "
        "positions apart, the side to move included"
    )
