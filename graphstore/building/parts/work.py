"""What lies in a folder while it is being built: arrays by kind and block, and records of the done.

A record is written after all that it tells of, so what has one is done.
"""

import json
import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import StoreError
from graphstore.store.folder.layout import BUILDING, WORK
from graphstore.util.files import put

SMALL: Final = 1 << 16  # bytes of a file that is read faster than it is mapped
ALIGNED: Final = 64  # bytes: each array begins at a multiple
LENGTH: Final = 8  # bytes that tell how long the list of the arrays is

Arrays = dict[str, NDArray[Any]]


class Work:
    """The arrays and the records in a folder.

    Arrays that are needed together are of one kind, and of a block in one file, since opening a
    file takes longer than reading a little of it.

    Args:
        path: the folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path / WORK

    def save(self, kind: str, wave: int, part: int, **arrays: NDArray[Any]) -> None:
        """Keep the arrays of a kind of a block."""
        file = self._file(kind, wave, part)
        put(file, partial(_write, f"{kind} {file.stem}", arrays))

    def load(self, kind: str, wave: int, part: int) -> Arrays:
        """Return arrays by name; unless they are few, they lie on the disk until they are read."""
        file = self._file(kind, wave, part)
        try:
            mapped = file.stat().st_size > SMALL
            raw = np.memmap(file, mode="r") if mapped else np.fromfile(file, np.uint8)
            return _read(f"{kind} {file.stem}", raw)
        except (OSError, ValueError, TypeError, LookupError, RecursionError) as error:
            raise damaged(file, getattr(error, "strerror", None) or "") from error

    def drop(self, kind: str, wave: int, part: int) -> None:
        """Forget the arrays of a kind, if there are some."""
        self._file(kind, wave, part).unlink(missing_ok=True)

    def clear(self, kinds: str) -> None:
        """Forget the arrays of all blocks that are of such kinds, as of files: ``upward_*``."""
        for folder in self.path.glob(kinds):
            shutil.rmtree(folder, ignore_errors=True)  # one given up too early may write yet

    def note(self, step: str, wave: int, part: int, record: Mapping[str, Any]) -> None:
        """Keep the record of a step that is done."""
        text = json.dumps(record).encode()
        put(self._record(step, wave, part), lambda file: file.write(b"%08x" % crc32(text) + text))

    def noted(self, step: str, wave: int, part: int) -> dict[str, Any] | None:
        """Return the record of a step, or None if it is not done."""
        try:
            found = self._record(step, wave, part).read_bytes()
            if int(found[:8], 16) != crc32(found[8:]):
                return None
            record: dict[str, Any] = json.loads(found[8:])
        except (OSError, ValueError):  # not there, or cut when the power went
            return None
        return record

    def _file(self, kind: str, wave: int, part: int) -> Path:
        return self.path / kind / f"{wave:04}-{part:04}.arrays"

    def _record(self, step: str, wave: int, part: int) -> Path:
        return self.path / "done" / f"{step}-{wave:04}-{part:04}.json"


def damaged(path: Path, why: str = "") -> StoreError:
    """Return what is wrong with a build that cannot go on."""
    drafts = [each for each in (path, *path.parents) if each.name.endswith(BUILDING)]
    what = f"{path} is damaged: {why}" if why else f"{path} is damaged"
    return StoreError(f"{what}; remove {(drafts or [path])[0]} and begin anew")


def _write(of: str, arrays: Mapping[str, NDArray[Any]], file: Any) -> None:
    """Write a list of arrays, then the arrays: their names, types, shapes and where they begin."""
    begin, listed = 0, {}
    for name, array in arrays.items():
        listed[name] = (np.lib.format.dtype_to_descr(array.dtype), array.shape, begin)
        begin += array.nbytes + -array.nbytes % ALIGNED
    head = json.dumps({"of": of, "arrays": listed}).encode()
    head += b" " * (-(LENGTH + len(head)) % ALIGNED)
    file.write(len(head).to_bytes(LENGTH, "little") + head)
    for array in arrays.values():
        file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        file.write(b"\0" * (-array.nbytes % ALIGNED))


def _read(of: str, raw: NDArray[np.uint8]) -> Arrays:
    """Return the arrays of a file, which must be those of that kind and block.

    Raises:
        ValueError, TypeError, LookupError: it is damaged.
    """
    raw = np.asarray(raw)  # views of it are plain arrays, which keep it open
    first = LENGTH + int.from_bytes(raw[:LENGTH].tobytes(), "little")
    head = json.loads(raw[LENGTH:first].tobytes())
    if head["of"] != of:
        raise ValueError(f"it is {head['of']}")
    arrays = {}
    for name, (described, shape, begin) in head["arrays"].items():
        fields = described if isinstance(described, str) else [tuple(each) for each in described]
        kind: np.dtype[Any] = np.dtype(fields)
        end = first + begin + kind.itemsize * int(np.prod(shape))
        if end > len(raw):
            raise ValueError("it is cut short")
        arrays[name] = raw[first + begin : end].view(kind).reshape(shape)
    return arrays
