"""What lies in a folder while it is being built: arrays by name and block, and records of the done.

A record is written after all that it tells of, so what has one is done.
"""

import json
import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import StoreError
from graphstore.parts.atomic import put
from graphstore.parts.folder import WORK

SMALL: Final = 1 << 16  # bytes of a file that is read faster than it is mapped


class Work:
    """The arrays and the records in a folder.

    Args:
        path: the folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path / WORK

    def save(self, wave: int, part: int, **arrays: NDArray[Any]) -> None:
        """Keep arrays of a block by their names."""
        for name, array in arrays.items():
            put(self._file(name, wave, part), partial(_save, array))

    def load(self, name: str, wave: int, part: int) -> NDArray[Any]:
        """Return an array; one that is not small lies on the disk until it is read."""
        file = self._file(name, wave, part)
        try:
            mapped = file.stat().st_size > SMALL
            return np.load(file, mmap_mode="r" if mapped else None)  # type: ignore[no-any-return]
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise StoreError(
                f"{file} cannot be read: {reason}; begin anew with --force (force=True)"
            ) from error

    def drop(self, name: str, wave: int, part: int) -> None:
        """Forget an array, if there is one."""
        self._file(name, wave, part).unlink(missing_ok=True)

    def clear(self, names: str) -> None:
        """Forget the arrays of all blocks that have such names, as of files: ``share_*``."""
        for folder in self.path.glob(names):
            shutil.rmtree(folder, ignore_errors=True)  # one given up too early may write yet

    def note(self, step: str, wave: int, part: int, record: Mapping[str, Any]) -> None:
        """Keep the record of a step that is done."""
        put(self._record(step, wave, part), lambda file: file.write(json.dumps(record).encode()))

    def noted(self, step: str, wave: int, part: int) -> dict[str, Any] | None:
        """Return the record of a step, or None if it is not done."""
        try:
            found: dict[str, Any] = json.loads(self._record(step, wave, part).read_bytes())
        except (FileNotFoundError, ValueError):  # not there, or cut when the power went
            return None
        return found

    def _file(self, name: str, wave: int, part: int) -> Path:
        return self.path / name / f"{wave:04}-{part:04}.npy"

    def _record(self, step: str, wave: int, part: int) -> Path:
        return self.path / "done" / f"{step}-{wave:04}-{part:04}.json"


class _Plain:
    """A file as numpy writes to one that is none of the system's: what fails then has a reason."""

    def __init__(self, file: Any) -> None:
        self.write = file.write


def _save(array: NDArray[Any], file: Any) -> None:
    np.save(_Plain(file), array)
