"""Values of many positions at once, as arrays."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import (
    NotAStoreError,
    NotInStoreError,
    PositionError,
    PositionTypeError,
    StoreError,
    shown,
)
from graphstore.rules.game import Ints
from graphstore.rules.positions import Position
from graphstore.store.by_key import Keyed
from graphstore.store.probe import Probe, Values
from graphstore.store.reader import Reader
from graphstore.util import arguments
from graphstore.util.arrays import numbered
from graphstore.util.forks import Owned

Many: TypeAlias = Sequence[str | Sequence[Any]] | Sequence[int] | Ints


class Lookup(NamedTuple):
    """Columns of the table `state` for k positions, in the order of the request.

    `state` is the column `id`; `found` is True if the database holds the state. The other columns
    are those of `store.probe.Values`, masked where a cell is NULL or the state is missing.
    """

    state: Ints
    found: NDArray[np.bool_]
    value: "np.ma.MaskedArray[Any, np.dtype[np.int8]]"
    remoteness: "np.ma.MaskedArray[Any, np.dtype[np.int32]]"
    score: "np.ma.MaskedArray[Any, np.dtype[np.float64]]"
    win_depth: "np.ma.MaskedArray[Any, np.dtype[np.int32]]"
    lose_depth: "np.ma.MaskedArray[Any, np.dtype[np.int32]]"


_TYPES = {
    name: np.dtype(kind)
    for name, kind in zip(
        Values._fields, ("int8", "int32", "float64", "int32", "int32"), strict=True
    )
}
_ROWS = Keyed(("id", *Values._fields), "state", "id")
_ROW = np.dtype([("id", np.int64), *((name, np.float64) for name in _TYPES)])  # NaN where NULL


def lookup(reader: Reader, states: Ints) -> Lookup:
    """Return the values of states by id, int64[k]; the database may lack some of them."""
    keys, which = numbered(states)
    table = np.fromiter(_ROWS.rows(reader, keys.tolist()), _ROW)
    at = np.searchsorted(keys, table["id"])
    found = np.zeros(len(keys), dtype=np.bool_)
    found[at] = True
    cells = np.full((len(_TYPES), len(keys)), np.nan)
    cells[:, at] = table.view(np.float64).reshape(-1, 1 + len(_TYPES))[:, 1:].T
    cells = cells[:, which]
    mask = np.isnan(cells)
    np.copyto(cells, 0, where=mask)
    return Lookup(states, found[which], *map(_masked, cells, mask, _TYPES.values()))


def ids_or_texts(positions: Many) -> Ints | list[str | Sequence[Any]]:
    """Return positions as ids of states, int64[k], or as a list of texts and lists of moves."""
    if isinstance(positions, str | bytes) or not hasattr(positions, "__iter__"):
        raise PositionError(f"positions must be a list, not one text: {shown(positions)}")
    if hasattr(positions, "dtype"):
        array = np.asarray(positions)
        if array.ndim != 1:
            raise PositionError(f"positions must be a list, not an array of shape {array.shape}")
        if array.dtype.kind == "i":
            return array.astype(np.int64)
        positions = array.tolist()
    listed: list[Any] = list(positions)
    kinds = {*map(type, listed)}
    if kinds and all(issubclass(kind, str) for kind in kinds):
        return listed
    if kinds & {list, tuple} and all(map(_is_text_or_moves, listed)):
        return listed
    for each in () if kinds <= {int} else listed:
        if arguments.integer(each) is None:
            raise PositionError(
                f"{shown(each)} is among the positions; all must be ids of states, or all texts"
            )
    try:
        return np.array(listed, dtype=np.int64)
    except OverflowError:
        wrong = next(each for each in listed if not -(2**63) <= each < 2**63)
        raise NotInStoreError(f"no state has the id {shown(wrong)}: ids are below 2**63") from None


def _is_text_or_moves(position: Any) -> bool:
    """Return False also for a row of integers: it may be a row of an array of ids."""
    if isinstance(position, list | tuple):
        return not all(isinstance(each, int) for each in position)
    return isinstance(position, str)


def _masked(cells: NDArray[np.float64], mask: NDArray[np.bool_], dtype: np.dtype[Any]) -> Any:
    with np.errstate(invalid="ignore"):
        exact = cells.astype(dtype)
    wrong = exact != cells
    if wrong.any():
        raise NotAStoreError(
            f"the database is damaged: {cells[wrong][0]:g} is not a value of a state"
        )
    return np.ma.MaskedArray(exact, mask)


_VALUES = Keyed(Values._fields, "state", "id")


class Snapshot:
    """Look-ups in one state of a database, for one thread; it ends with its `with` block."""

    def __init__(
        self,
        reader: Reader,
        probe: Callable[[Reader, Position], Probe],
        lookup: Callable[[Reader, Many], Lookup],
    ) -> None:
        self._reader = reader
        self._probe = probe
        self._lookup = lookup
        self._one = reader.text(_VALUES.text(1))
        cursor = reader.driver.cursor()
        refusal = StoreError(
            "this snapshot belongs to the parent process; take one here: with store.snapshot()"
        )
        self._cursor = Owned(cursor, cursor.close, refusal)
        self._ended = False

    def values(self, state: int) -> Values | None:
        """Return the values of a state; None if the database does not hold it.

        Raises:
            PositionTypeError: the id is not an integer.
        """
        cursor = self._checked()
        key = state if type(state) is int else arguments.integer(state)
        if key is None:
            raise PositionTypeError(f"state is {shown(state)}; it must be an integer")
        if not 0 <= key < 2**63:
            return None
        if self._reader.find is not None:
            row = next(iter(self._reader.find(_VALUES, [key])), None)
        else:
            row = cursor.execute(self._one, (key,)).fetchone()
        return None if row is None else Values(*row)

    def probe(self, position: Position) -> Probe:
        """Return the probe of a position, as `graphstore.Store.probe` does."""
        self._checked()
        return self._probe(self._reader, position)

    def lookup(self, positions: Many) -> Lookup:
        """Return the values of many positions, as `graphstore.Store.lookup` does."""
        self._checked()
        return self._lookup(self._reader, positions)

    def end(self) -> None:
        """End the snapshot; further look-ups raise StoreError."""
        self._ended = True
        self._cursor.close()

    def _checked(self) -> Any:
        if self._ended:
            raise StoreError("this snapshot has ended; take another: with store.snapshot()")
        return self._cursor.value
