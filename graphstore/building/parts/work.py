"""Arrays and records of a build that is not complete, in its folder ``work``.

The arrays of one kind and block are in one file, because opening a file takes longer than reading a
little of it. A record is written after the arrays of its step: so a step with a record is done.
"""

import json
from collections.abc import Mapping, Sequence
from errno import ENOENT
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from graphstore.building.parts.places import HEAD, Place
from graphstore.errors import StoreError
from graphstore.rules.game import Ints
from graphstore.store.arrow import pyarrow
from graphstore.store.folder.layout import BUILDING, WORK
from graphstore.util.extras import short_of_memory
from graphstore.util.files import Summed

VERSION: Final = 7
"""The version of the files in ``work``; a build of another version is not resumed."""

WHOLE: Final = 0x2144DF1C
"""The CRC-32 of any bytes that are followed by their own CRC-32, the lowest byte first."""

ALIGNED: Final = 64  # bytes; each array of a file begins at a multiple of these

Arrays = dict[str, NDArray[Any]]
Record = dict[str, Any]


class BlockId(NamedTuple):
    """The key of a block, or of a share in a round (`graphstore.building.parts.shares`)."""

    wave: int  # the ply of the wave; for a share the round, or 0
    part: int  # the part of the wave, from 0; or the number of the share

    def __str__(self) -> str:
        return f"{self.wave:04}/{self.part:04}"


class Work:
    """The arrays and the records of a build."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def save(self, kind: str, at: BlockId, **arrays: NDArray[Any]) -> None:
        """Write arrays, one after the other; the first line tells their names and types."""
        found = [(name, array.dtype.str, len(array)) for name, array in arrays.items()]
        head = json.dumps(found).encode()

        def write(file: Summed) -> None:
            file.write(head.ljust(-(len(head) + 1) % ALIGNED + len(head)) + b"\n")
            for array in arrays.values():
                held = np.ascontiguousarray(array).view(np.uint8)
                file.write(held.data)
                file.write(bytes(-held.nbytes % ALIGNED))
            file.write(file.checksum.to_bytes(4, "little"))

        self.place.put(_file(kind, at), write)

    def load(self, kind: str, at: BlockId, rows: tuple[int, int] | None = None) -> Arrays:
        """Return arrays by name; those of a large file are mapped from the disk.

        With `rows`, return only these rows; if there is an array ``begin``, from ``begin[rows[0]]``
        to ``begin[rows[1]]``.
        """
        name = _file(kind, at)
        try:
            return _arrays(self.place.read(name), rows)
        except (OSError, ValueError, TypeError) as error:
            if isinstance(error, StoreError) or short_of_memory(error):
                raise
            if getattr(error, "errno", None) not in (None, ENOENT):
                raise
            why = getattr(error, "strerror", None) or ""
            raise damaged(self.place.located(name), why) from error

    def check(self) -> None:
        """Raise if a file of a build that resumes is damaged."""
        for name in self.place.names(WORK):
            if (name.endswith(".arrays") and self.place.checksum(name) != WHOLE) or (
                name.endswith(".json") and self._record(name) is None
            ):
                raise damaged(self.place.located(name))

    def drop(self, kind: str, wave: int, part: int | None = None) -> None:
        """Remove the arrays of a kind and wave, or of one part of it, if they exist."""
        if part is None:
            self.place.remove(self.place.names(f"{WORK}/{kind}/{wave:04}"))
        else:
            self.place.remove([_file(kind, BlockId(wave, part))])

    def clear(self, *kinds: str) -> None:
        """Remove the files of all blocks, by patterns of kinds such as ``upward_*``."""
        for name in self.place.names(WORK):
            if any(fnmatch(name, f"{WORK}/{kind}/*") for kind in kinds):
                self.place.remove([name])

    def note(self, step: str, at: BlockId, record: Mapping[str, Any]) -> None:
        """Write the record of a step that is done."""
        text = json.dumps(record).encode()
        self.place.put(_record(step, at), lambda file: file.write(b"%08x" % crc32(text) + text))

    def noted(self, step: str, at: BlockId) -> Record | None:
        """Return the record of a step, or None if it is not done."""
        return self._record(_record(step, at))

    def all_noted(self, steps: Sequence[tuple[str, BlockId]]) -> list[Record | None]:
        """Return the records of steps as `noted` does, with few look-ups of names."""
        folders = {f"{WORK}/{step}/{at.wave:04}" for step, at in steps}
        there = {name for folder in folders for name in self.place.names(folder)}
        names = (_record(*step) for step in steps)
        return [self._record(name) if name in there else None for name in names]

    def _record(self, name: str) -> Record | None:
        """Return the record in a file; None if it is missing or damaged."""
        try:
            found = bytes(self.place.read(name)[:])
            if int(found[:8], 16) != crc32(found[8:]):
                return None
            record: Record = json.loads(found[8:])
        except StoreError:
            raise
        except (OSError, ValueError):
            return None
        return record


def _file(kind: str, at: BlockId) -> str:
    return f"{WORK}/{kind}/{at}.arrays"


def _record(step: str, at: BlockId) -> str:
    return f"{WORK}/{step}/{at}.json"


def _arrays(held: Any, rows: tuple[int, int] | None) -> Arrays:
    """Return the arrays in the bytes of a file; see `Work.load`."""
    head = bytes(held[:HEAD])
    begin, places = head.find(b"\n") + 1, {}
    for name, kind, count in json.loads(head[:begin]):
        size = np.dtype(kind).itemsize
        places[name] = (kind, count, begin, size)
        begin += -(-size * count // ALIGNED) * ALIGNED

    def array(name: str, some: tuple[int, int] | None) -> NDArray[Any]:
        kind, count, begin, size = places[name]
        first, end = (0, count) if some is None else (min(row, count) for row in some)
        return np.frombuffer(held[begin + first * size : begin + end * size], kind, end - first)

    if rows is not None and "begin" in places:
        first, end = (int(array("begin", (row, row + 1))[0]) for row in rows)
        rows = first, end
        del places["begin"]
    return {name: array(name, rows) for name in places}


def packed(ids: Ints) -> NDArray[np.uint8]:
    """Return ascending ids in little room: the bytes of their differences, compressed."""
    steps = np.diff(ids, prepend=np.int64(0)).astype("<i8")
    by_place = np.ascontiguousarray(steps.view(np.uint8).reshape(-1, 8).T)  # high bytes are zero
    return np.frombuffer(pyarrow().compress(by_place.data, "zstd", asbytes=True), np.uint8)


def unpacked(cells: NDArray[np.uint8], count: int) -> Ints:
    """Return the ids that `packed` has packed.

    >>> unpacked(packed(np.array([3, 5, 2**60])), 3).tolist()
    [3, 5, 1152921504606846976]
    """
    held = pyarrow().decompress(cells.data, 8 * count, "zstd", asbytes=True)
    by_place = np.frombuffer(held, np.uint8).reshape(8, count)
    steps = np.ascontiguousarray(by_place.T).view("<i8").reshape(count)
    return np.cumsum(steps, dtype=np.int64)


def damaged(where: str, why: str = "") -> StoreError:
    """Return the error for a build that cannot resume, because a file is damaged."""
    path = Path(where)
    drafts = [each for each in (path, *path.parents) if each.name.endswith(BUILDING)]
    draft = drafts[0] if drafts else f"the draft .NAME{BUILDING} of the folder NAME"
    what = f"{where} is damaged: {why}" if why else f"{where} is damaged"
    return StoreError(f"{what}; remove {draft} and begin again")
