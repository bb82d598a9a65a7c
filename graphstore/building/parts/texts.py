"""The texts of positions whose ids are hashes, which processes exchange together with the ids."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import RulesError, shown
from graphstore.rules.adapter import ArrayRules
from graphstore.rules.game import Game, Ints
from graphstore.rules.openspiel import reading
from graphstore.util.arrays import distinct, first_of_runs, member

Texts = NDArray[np.str_]
"""str[n], the text of each id that is a hash, and "" for others; empty if no id is a hash.

A full stop follows each text, because numpy cuts off zero characters at the end."""

NO_TEXTS: Final = np.zeros(0, dtype="U1")


def spelled(game: Game, ids: Ints) -> Texts:
    """Return the texts of those ids that are hashes, for processes that do not know them yet."""
    if not isinstance(game, ArrayRules):
        return NO_TEXTS
    hashed = np.flatnonzero(game.hashed(ids))
    if not hashed.size:
        return NO_TEXTS
    written = np.array([f"{text}." for text in game.spelled(ids[hashed])])
    texts = np.zeros(len(ids), dtype=written.dtype)
    texts[hashed] = written
    return texts


def register(game: Game, ids: Ints, texts: Texts) -> None:
    """Make ids known to the game; parse the texts of those that are hashes; see `spelled`."""
    if isinstance(game, ArrayRules):
        game.meet(ids[texts == ""] if len(texts) else ids)
    hashed = np.flatnonzero(texts != "")
    if not hashed.size:
        return
    plain = [text[:-1] for text in texts[hashed].tolist()]
    with reading(are_reached=True):
        wrong = np.flatnonzero(game.read_many(plain) != ids[hashed])
    if wrong.size:
        raise RulesError(
            f"{game.name}: parse() must return the same position for {shown(plain[int(wrong[0])])} "
            "every time"
        )


def check_texts(game: Game, asked: tuple[Ints, Texts], known: tuple[Ints, Texts]) -> None:
    """Raise a RulesError if an id has one text in `asked` and another in `known`; ids ascend."""
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
    filled = [_filled(*pair) for pair in zip(ids, texts, strict=True)]
    all_ids, all_texts = np.concatenate(ids), np.concatenate(filled)
    order = np.argsort(all_ids, kind="stable")
    all_ids, all_texts = all_ids[order], all_texts[order]
    first = first_of_runs(all_ids)
    for at in np.flatnonzero(~first[1:] & (all_texts[1:] != all_texts[:-1]))[:1]:
        raise _shared(game, int(all_ids[at]), all_texts[at], all_texts[at + 1])
    return all_ids[first], all_texts[first]


def _filled(ids: Ints, texts: Texts) -> Texts:
    """Return the texts; if there are none, an empty text for each id."""
    return texts if len(texts) else np.zeros(len(ids), dtype="U1")


def _shared(game: Game, state: int, *texts: str) -> RulesError:
    """Return the error for two positions that share an id; "" stands for an id without a text."""
    one, another = (shown(text[:-1]) if text else str(state) for text in texts)
    return RulesError(
        f"{game.name}: {one} and {another} share the id {state}; text() must differ for "
        "any two positions, also for the side to move"
    )
