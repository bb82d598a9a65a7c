"""Checks of the columns of a solved game: each row is computed again from its neighbours.

If every row agrees with its neighbours, and the rules confirm the ends, the edges and the starts,
then all values, depths and plies are right. This holds with and without cycles:

- *Won and lost.* A row claims a win only if a child claims a loss, and a loss only if all children
  claim wins. Its remoteness is a number: one more than the least, or the most, of those children.
  So remoteness falls strictly along such children. There are finitely many states, so each such
  path ends, in a row of remoteness 0. By induction on remoteness every claim is true, and so is the
  remoteness: the winner takes the least, the loser the most. Claims that only support each other in
  a circle are impossible, because remoteness would have to fall around it.
- *Drawn.* A row claims a draw only if a child claims a draw and no child claims a loss. So each
  player can stay among rows that claim draws, and the opponent can leave them only to rows that are
  won for that player, as shown above. So neither player can be made to lose. The remoteness falls
  in the same way down to a tie; it is NULL only if that of all drawn children is NULL.
- *Ply.* It is 0 or one more than the least of the parents' plies. So it falls, parent by parent,
  down to a row of ply 0; these rows are the starts.
- *Margins and nimbers.* Without a cycle, each follows from those of the children, and the rules say
  the margins of ended states. A game has them for all states or for none.
- *The winner's own moves* follow in the same way: of the best lines, the fewest or the most.
- *Random play.* Without a cycle, each number follows from those of the children. With a cycle,
  there are no numbers.
- *Books.* All of this rests on the states in play at the last ply, which a search checks.

Columns have the narrowest type that holds their cells, and NULL is the least number of the type.
Arithmetic is in int64, a part at a time. No cell is trusted: it may be any number.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphstore.checks.file.findings import WrongCells
from graphstore.rules.game import DRAW, LOSS, WIN, Ints
from graphstore.store.digests import NULL
from graphstore.util.arrays import first_of_runs, ragged

Cells: TypeAlias = NDArray[Any]
PART = 100_000  # rows per part: bounds the memory of temporary arrays
MOST = np.iinfo(np.int64).max


class States(NamedTuple):
    """Columns of the table `state`, n rows ascending by id, with integers as `narrowed` returns."""

    id: Ints
    ply: Cells
    to_move: Cells
    ended: Cells
    value: Cells
    remoteness: Cells
    score: NDArray[np.float64]
    win_depth: Cells
    lose_depth: Cells
    random_value: NDArray[np.float64]
    best_response: NDArray[np.float64]
    margin: Cells
    nimber: Cells

    @classmethod
    def of(cls, part: Mapping[str, Cells]) -> "States":
        """Return the columns of a part of the table, narrowed."""
        return cls(part["id"], *(narrowed(part[name]) for name in cls._fields[1:]))

    @classmethod
    def joined(cls, parts: "list[States]") -> "States":
        """Return the rows of several parts, one after the other; empty the list of parts."""
        columns = [[*cells] for cells in zip(*parts, strict=True)]
        parts.clear()
        return cls(*(joined(columns.pop(0)) for _ in cls._fields))  # holds one column twice


class Links(NamedTuple):
    """The edges that join two states, by parent, then by move."""

    offset: Ints  # [n + 1], where the moves of each state begin
    child: NDArray[np.int32]  # [m], the rows of the children
    keeps: NDArray[np.bool_] | None = None  # [m], True if a move keeps the turn; None if none does
    whole: NDArray[np.bool_] | None = None  # [n], True if all edges of a state are here; or None

    def of(self, rows: Ints) -> tuple[Ints, NDArray[np.int32]]:
        """Return the number of moves of each row, int64[k], and the children, row by row."""
        return self.offset[rows + 1] - self.offset[rows], self.child[ragged(self.offset, rows)]

    def kept(self, rows: Ints) -> Any:
        """Return bool[m], True for each move of the rows that keeps the turn; or False."""
        return self.keeps is not None and self.keeps[ragged(self.offset, rows)]

    def told(self, states: States) -> "Links":
        """Return the same edges with `keeps`."""
        parts = [np.empty(0, dtype=np.bool_)]
        for rows in in_parts(range(len(states.id))):
            counts, child = self.of(rows)
            before = np.repeat(states.to_move[rows], counts)
            parts.append((before == states.to_move[child]) & (before > 0))
        keeps = np.concatenate(parts)
        return self._replace(keeps=keeps if keeps.any() else None)


def narrowed(cells: Cells) -> Cells:
    """Return integers in the narrowest type that holds them; NULL is the least number of a type."""
    if cells.dtype.kind != "i":
        return cells
    null = cells == NULL
    known = cells[~null]
    for kind in (np.int8, np.int32):
        limits = np.iinfo(kind)
        if not known.size or (known.min() > limits.min and known.max() <= limits.max):
            return np.where(null, limits.min, cells).astype(kind)
    return cells


def widened(cells: Cells, kind: Any = np.int64) -> Cells:
    """Return integers in a wider type; NULL becomes its least number, `NULL` for int64."""
    if cells.dtype == kind:
        return cells
    null = cells == np.iinfo(cells.dtype).min
    return np.where(null, np.iinfo(kind).min, cells.astype(kind))


def joined(parts: Sequence[Cells]) -> Cells:
    """Return the parts of a column as one array of the widest type."""
    widest = np.result_type(*parts)
    return np.concatenate([widened(each, widest) for each in parts])


def in_parts(rows: Ints | range) -> Iterator[Ints]:
    """Yield the rows in parts of at most `PART`."""
    for begin in range(0, len(rows), PART):
        part = rows[begin : begin + PART]
        yield np.arange(part.start, part.stop) if isinstance(part, range) else part


def dangling(
    edges: Mapping[str, Any], has_parent: NDArray[np.bool_], has_child: NDArray[np.bool_]
) -> Iterator[WrongCells]:
    """Yield the edges with an end that is not a state; both masks are bool[k], one per edge."""
    for name, lost in (("parent", ~has_parent), ("child", has_parent & ~has_child)):
        at = np.flatnonzero(lost)
        found, moves = edges[name][at], edges["move"][at]
        yield WrongCells(edges["parent"][at], name, found, "the id of a state", moves)


def values(
    states: States, links: Links, rows: Ints, *, is_whole: bool = True
) -> Iterator[WrongCells]:
    """Yield the values and depths of rows that do not follow from the children.

    `is_whole` is False if other edges, which are not in `links`, may keep the turn.
    """
    counts, child = links.of(rows)
    is_open = counts > 0
    begin = (np.cumsum(counts) - counts)[is_open]
    of_child, depth = widened(states.value[child]), widened(states.remoteness[child])
    if links.keeps is not None:  # then for the opponent of the player who moves
        of_child = np.where(links.kept(rows), -of_child, of_child)
    value, remoteness = widened(states.value[rows]), widened(states.remoteness[rows])

    derived = value.copy()
    derived[is_open] = -np.minimum.reduceat(of_child, begin) if begin.size else 0

    def nearest(wanted: int, *, most: bool = False) -> Ints:
        """Return 1 + the least (or most) remoteness of the children of a value, or NULL."""
        fits = (of_child == wanted) & (depth != NULL)
        none = NULL if most else MOST
        of = np.maximum if most else np.minimum
        result = np.full(len(rows), NULL)
        if begin.size:
            found = of.reduceat(np.where(fits, depth, none), begin)
            result[is_open] = np.where(found == none, NULL, found + 1)
        return result

    least = np.where(value == WIN, nearest(LOSS), nearest(WIN, most=True))
    least = np.where(value == DRAW, nearest(DRAW), least)
    numberless = is_open & (value != DRAW) & (least == NULL)
    least[~is_open] = 0
    moves = (remoteness + (value == WIN)) // 2  # of the winner, if turns alternate
    win, lose = widened(states.win_depth[rows]), widened(states.lose_depth[rows])
    if begin.size and not (is_whole and links.keeps is None):
        of_depths = (widened(each[child]) for each in (states.win_depth, states.lose_depth))
        own = np.where(states.value[child] == LOSS, *of_depths)
        fits = of_child == np.repeat(-value, counts)
        fits &= depth == np.repeat(least - 1, counts)
        fewest = np.minimum.reduceat(np.where(fits, own, MOST - 1), begin) + 1
        most = np.maximum.reduceat(np.where(fits, own, NULL), begin)
        derived_moves = np.zeros(len(rows), dtype=np.int64)
        derived_moves[is_open] = np.where(value[is_open] == WIN, fewest, most)
        alternates = np.where(value == WIN, lose, win) == moves
        moves = np.where(alternates & (links.keeps is None), moves, derived_moves)
    for column, found, expected in (
        ("ended", widened(states.ended[rows]), (~is_open).astype(np.int64)),
        ("value", value, derived),
        ("remoteness", remoteness, np.where(numberless, remoteness, least)),
        ("score", states.score[rows], _scores(of_child, counts, child, value)),
        (
            "win_depth",
            win,
            np.where((value == LOSS) & (remoteness != NULL), moves, NULL),
        ),
        (
            "lose_depth",
            lose,
            np.where((value == WIN) & (remoteness != NULL), moves, NULL),
        ),
    ):
        yield from _differing(states, rows, column, found, expected)
    if numberless.any():
        at = np.flatnonzero(numberless)
        yield WrongCells(states.id[rows[at]], "remoteness", remoteness[at], "a number")


def last_ply(states: States, rows: Ints, found: NDArray[np.void]) -> Iterator[WrongCells]:
    """Yield the cells of states without moves, at the last ply of a book, that differ.

    `found` has the columns id, value, remoteness and score that a search finds, of some of them.
    """
    at = np.searchsorted(states.id, found["id"])
    value, remoteness = widened(states.value[rows]), widened(states.remoteness[rows])
    moves, none = (remoteness + (value == WIN)) // 2, np.full(len(rows), np.nan)
    score = np.where(value == DRAW, states.score[rows], -value.astype(np.float64))
    for column, where, expected in (
        *((name, at, found[name]) for name in ("value", "remoteness", "score")),
        ("score", rows, score),
        ("win_depth", rows, np.where(value == LOSS, moves, NULL)),
        ("lose_depth", rows, np.where(value == WIN, moves, NULL)),
        ("random_value", rows, none),
        ("best_response", rows, none),
    ):
        cells = getattr(states, column)[where]
        cells = cells if cells.dtype.kind == "f" else widened(cells)
        yield from _differing(states, where, column, cells, expected)
    at = np.flatnonzero(remoteness == NULL)
    yield WrongCells(states.id[rows[at]], "remoteness", remoteness[at], "a number")


def is_filled(cells: Cells) -> bool:
    """Return True if a column, narrowed, has a cell that is not NULL."""
    return bool((cells != np.iinfo(cells.dtype).min).any())


def margins(states: States, links: Links, rows: Ints, *, cyclic: bool) -> Iterator[WrongCells]:
    """Yield the margins of rows that have another sign than the value, or do not follow."""
    found, value = widened(states.margin[rows]), widened(states.value[rows])
    counts, child = links.of(rows)
    is_open = counts > 0
    expected = np.where(found == NULL, value, found)
    if is_open.any():
        begin = (np.cumsum(counts) - counts)[is_open]
        of_child = widened(states.margin[child])
        of_child = np.where(links.kept(rows) & (of_child != NULL), -of_child, of_child)
        best = np.minimum.reduceat(of_child, begin)
        expected[is_open] = np.where(best == NULL, NULL, -best)
    if cyclic:
        expected[:] = NULL
    yield from _differing(states, rows, "margin", found, expected)
    at = np.flatnonzero((found == expected) & (found != NULL) & (np.sign(found) != value))
    yield WrongCells(states.id[rows[at]], "margin", found[at], "one with the sign of value")


def nimbers(states: States, links: Links, rows: Ints) -> Iterator[WrongCells]:
    """Yield the nimbers of rows that a child has, or below which a number is missing."""
    counts, child = links.of(rows)
    found, of_child = widened(states.nimber[rows]), widened(states.nimber[child])
    parent = np.repeat(np.arange(len(rows)), counts)
    clash = np.bincount(parent[of_child == found[parent]], minlength=len(rows))
    lower = (of_child >= 0) & (of_child < found[parent])
    order = np.lexsort((of_child[lower], parent[lower]))
    one, less = parent[lower][order], of_child[lower][order]
    first = first_of_runs(one) | first_of_runs(less)
    at = np.flatnonzero((clash > 0) | (np.bincount(one[first], minlength=len(rows)) != found))
    yield WrongCells(states.id[rows[at]], "nimber", found[at], "the least that no child has")


def _scores(of_child: Ints, counts: Ints, child: Cells, value: Ints) -> NDArray[np.float64]:
    """Return the score of each row: for a draw, the share of distinct replies that lose."""
    parent, _ = distinct_replies(counts, child)
    replies = np.bincount(parent, minlength=len(counts))
    lost = of_child == WIN
    lost_of = np.bincount(np.repeat(np.arange(len(counts)), counts)[lost], minlength=len(counts))
    losing = np.bincount(distinct_replies(lost_of, child[lost])[0], minlength=len(counts))
    share = losing / np.maximum(replies, 1)
    return np.where(value == DRAW, share, -value.astype(np.float64))


def distinct_replies(counts: Ints, child: Cells) -> tuple[Ints, Ints]:
    """Return the distinct pairs of a row and one of its children.

    >>> distinct_replies(np.array([2, 1]), np.array([5, 5, 0]))
    (array([0, 1]), array([5, 0]))
    """
    key = np.repeat(np.arange(len(counts)) << 32, counts) | child
    key.sort(kind="stable")
    key = key[first_of_runs(key)]
    return key >> 32, key & 0xFFFFFFFF


def nearest_parents(states: States, links: Links) -> Cells:
    """Return 1 + the least ply of the parents of each row, as `narrowed`; NULL without parents."""
    kind: Any = np.int32 if states.ply.dtype == np.int8 else np.int64
    least: Cells = np.full(len(states.id), np.iinfo(kind).max, kind)
    for rows in in_parts(range(len(states.id))):
        counts, child = links.of(rows)
        np.minimum.at(least, child, np.repeat(widened(states.ply[rows], kind), counts))
    np.add(least, kind(1), out=least)  # without parents, it becomes the least number
    return least


def plies(states: States, nearest: Cells, rows: Ints) -> Iterator[WrongCells]:
    """Yield the plies of rows that are neither 0 nor `nearest`, from `nearest_parents`."""
    found = widened(states.ply[rows])
    yield from _differing(
        states, rows, "ply", found, np.where(found == 0, 0, widened(nearest[rows]))
    )


def rises(ply: Cells, links: Links) -> bool:
    """Return whether each child has a larger ply than its parent, so that play cannot cycle."""
    parts = ((rows, *links.of(rows)) for rows in in_parts(range(len(ply))))
    return all(bool((np.repeat(ply[rows], n) < ply[child]).all()) for rows, n, child in parts)


def has_cycle(links: Links) -> bool:
    """Return whether play can cycle.

    States without parents are removed until there are none. States remain if and only if play can
    cycle.
    """
    above = np.bincount(links.child, minlength=len(links.offset) - 1)
    wave = np.flatnonzero(above == 0)
    taken = 0
    while wave.size:
        taken += len(wave)
        child = links.of(wave)[1].astype(np.int64)
        np.subtract.at(above, child, 1)
        free = np.sort(child[above[child] == 0])
        wave = free[first_of_runs(free)]
    return taken < len(above)


def best_means(states: States, links: Links) -> NDArray[np.float64]:
    """Return float64[n], the best mean result of each row against an opponent who plays at random.

    It is for the player to move: the largest `best_response` of the children, or best mean of the
    children in which that player is to move again. It is infinite where edges to know it are
    missing.
    """
    result = np.empty(len(states.id))
    parents, again = list[Ints](), list[Cells]()  # the ends of moves that keep the turn
    for rows in in_parts(range(len(result))):
        counts, child = links.of(rows)
        is_open = counts > 0
        result[rows] = np.where(states.ended[rows] == 0, np.nan, widened(states.value[rows]))
        if is_open.any():
            begin = (np.cumsum(counts) - counts)[is_open]
            of_child = states.best_response[child]
            if links.keeps is not None:
                keeps = links.kept(rows)
                parents.append(np.repeat(rows, counts)[keeps])
                again.append(child[keeps])
                of_child = np.where(keeps, -np.inf, of_child)
            result[rows[is_open]] = np.maximum.reduceat(of_child, begin)
    is_whole = np.diff(links.offset) > 0 if links.whole is None else links.whole
    unknown = ~is_whole & (states.ended == 0)
    if not any(map(len, parents)):
        return result
    result[unknown] = np.inf
    parent, child = np.concatenate(parents), np.concatenate(again)
    parent, child = parent[~unknown[parent]], child[~unknown[parent]]
    before = result[:0]
    while not np.array_equal(before, result, equal_nan=True):
        before = result.copy()
        with np.errstate(invalid="ignore"):  # NULL
            np.maximum.at(result, parent, before[child])
    return result


def random_play(
    states: States, links: Links, chooser: NDArray[np.float64], rows: Ints, *, cyclic: bool
) -> Iterator[WrongCells]:
    """Yield the numbers of random play that do not follow exactly from the children.

    `chooser` is the result of `best_means`. If play can cycle, there must be no numbers.
    """
    counts, child = links.of(rows)
    keeps = links.kept(rows)
    random, best = states.random_value[child], states.best_response[child]
    is_open = counts > 0
    begin = (np.cumsum(counts) - counts)[is_open]
    ended = widened(states.value[rows]).astype(np.float64)
    for column, sign, of_child in (
        ("random_value", -1.0, np.where(keeps, -random, random)),
        ("best_response", 1.0, np.where(keeps, best, chooser[child])),
    ):
        expected = np.full(len(rows), np.nan) if cyclic else -sign * ended
        if begin.size and not cyclic:
            with np.errstate(all="ignore"):  # infinities are wrong cells
                mean = np.add.reduceat(of_child, begin) / counts[is_open]
            expected[is_open] = sign * mean
        found = getattr(states, column)[rows]
        yield from _differing(
            states, rows, column, found, np.where(np.isposinf(expected), found, expected)
        )


def _differing(
    states: States, rows: Ints, column: str, found: Cells, expected: Cells
) -> Iterator[WrongCells]:
    """Yield the cells that differ; NaN equals NaN."""
    differs = found != expected
    if found.dtype.kind == "f":
        differs &= ~(np.isnan(found) & np.isnan(expected))
    at = np.flatnonzero(differs)
    if at.size:
        yield WrongCells(states.id[rows[at]], column, found[at], expected[at])
