"""Arrays and records of a build that is not complete, in its folder ``work``.

The arrays of one kind and block are in one file, because opening a file takes longer than reading a
little of it. A record is written after the arrays of its step: so a step with a record is done.
"""

import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from errno import ENOENT
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Final, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import StoreError
from graphstore.rules.game import Ints
from graphstore.store.arrow import pyarrow
from graphstore.store.folder.layout import BUILDING, WORK
from graphstore.util.extras import short_of_memory
from graphstore.util.files import Summed, checksum, put

VERSION: Final = 6
"""The version of the files in ``work``; a build of another version is not resumed."""

WHOLE: Final = 0x2144DF1C
"""The CRC-32 of any bytes that are followed by their own CRC-32, the lowest byte first."""

SMALL: Final = 1 << 17  # bytes of a file that is read faster than it is mapped
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
    """The arrays and the records of the build in a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path / WORK

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

        put(self._file(kind, at), write)

    def load(self, kind: str, at: BlockId) -> Arrays:
        """Return arrays by name; those of a large file are mapped from the disk."""
        path = self._file(kind, at)
        try:
            with path.open("rb") as file:
                small = os.fstat(file.fileno()).st_size <= SMALL
                return _arrays(file.read() if small else mmap(file.fileno(), 0, access=ACCESS_READ))
        except (OSError, ValueError, TypeError) as error:
            if getattr(error, "errno", None) not in (None, ENOENT) or short_of_memory(error):
                raise
            raise damaged(path, getattr(error, "strerror", None) or "") from error

    def check(self) -> None:
        """Raise if a file of a build that resumes is damaged."""
        for file in sorted(self.path.glob("*/*/*.*")):
            if (file.suffix == ".arrays" and checksum(file) != WHOLE) or (
                file.suffix == ".json" and _record_in(file) is None
            ):
                raise damaged(file)

    def drop(self, kind: str, at: BlockId) -> None:
        """Remove the arrays of a kind and block, if they exist."""
        with suppress(PermissionError):  # Windows, if an abandoned step has it open
            self._file(kind, at).unlink(missing_ok=True)

    def clear(self, *kinds: str) -> None:
        """Remove the arrays of all blocks, by patterns of kinds such as ``upward_*``."""
        for folder in [each for kind in kinds for each in self.path.glob(kind)]:
            shutil.rmtree(folder, ignore_errors=True)  # an abandoned worker may still write there

    def note(self, step: str, at: BlockId, record: Mapping[str, Any]) -> None:
        """Write the record of a step that is done."""
        text = json.dumps(record).encode()
        put(self._record(step, at), lambda file: file.write(b"%08x" % crc32(text) + text))

    def noted(self, step: str, at: BlockId) -> Record | None:
        """Return the record of a step, or None if it is not done."""
        return _record_in(self._record(step, at))

    def _file(self, kind: str, at: BlockId) -> Path:
        return self.path / kind / f"{at}.arrays"

    def _record(self, step: str, at: BlockId) -> Path:
        return self.path / step / f"{at}.json"


def _arrays(held: bytes | mmap) -> Arrays:
    """Return the arrays in the bytes of a file."""
    begin, arrays = held.find(b"\n") + 1, {}
    for name, kind, count in json.loads(held[:begin]):
        arrays[name] = np.frombuffer(held, kind, count, begin)
        begin += -(-arrays[name].nbytes // ALIGNED) * ALIGNED
    return arrays


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


def _record_in(file: Path) -> Record | None:
    """Return the record in a file; None if it is missing or damaged."""
    try:
        found = file.read_bytes()
        if int(found[:8], 16) != crc32(found[8:]):
            return None
        record: Record = json.loads(found[8:])
    except (OSError, ValueError):
        return None
    return record


def damaged(path: Path, why: str = "") -> StoreError:
    """Return the error for a build that cannot resume, because a file is damaged."""
    drafts = [each for each in (path, *path.parents) if each.name.endswith(BUILDING)]
    what = f"{path} is damaged: {why}" if why else f"{path} is damaged"
    return StoreError(f"{what}; remove {(drafts or [path])[0]} and begin again")
