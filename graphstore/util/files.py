"""Files that are there as a whole, or not at all."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from graphstore.errors import StoreError


def put(path: Path, write: Callable[[Any], object]) -> None:
    """Make a file, or replace it, by what a function writes to a binary file.

    Of folders it makes the last two at most: where a build was removed, no step brings it back.
    Two that make the same file at once, as may be when a worker was given up too early, do not
    meet: the later one's takes the place of the other's.

    Raises:
        StoreError: it cannot be written.
    """
    draft = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with suppress(FileNotFoundError):
            path.parent.mkdir(exist_ok=True)
        if not path.parent.is_dir():
            path.parent.parent.mkdir(exist_ok=True)
            path.parent.mkdir(exist_ok=True)
        with draft.open("wb") as file:
            write(file)
        os.replace(draft, path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error
    except BaseException:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
