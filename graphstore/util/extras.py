"""Imports of optional packages, and errors that mean too little memory."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from graphstore.errors import MemoryLimitError, MissingExtraError

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]

_SHORT: Final = re.compile(
    "failed to map segment|cannot allocate memory|start new thread|launch worker thread"
    "|out of memory|bad_alloc|allocation failure|alloc of size"
    "|error return without exception set",  # some C code, if it got no memory
    re.IGNORECASE,
)


@contextmanager
def extra(missing: str, *, megabytes: int = 0) -> Iterator[None]:
    """Import an optional package; raise a MissingExtraError, `missing`, if it is not installed.

    Native code may end the process if it cannot get memory. So raise a MemoryLimitError if the
    limit of this process (``ulimit -v``) is less than `megabytes`, which the package takes at its
    start.
    """
    most = resource.getrlimit(resource.RLIMIT_AS)[0] if resource else -1
    if 0 <= most < megabytes * 10**6:
        raise MemoryLimitError(
            f"not enough memory: this needs {megabytes:,} MB of address space, but the process is "
            f"limited to {most // 10**6:,} MB; raise the limit (ulimit -v)"
        )
    try:
        yield
    except ImportError as error:
        # psycopg raises the latter if there is no libpq.
        absent = isinstance(error, ModuleNotFoundError) or "no pq wrapper" in str(error)
        if not absent or short_of_memory(error):
            raise
        raise MissingExtraError(missing) from error


def short_of_memory(error: BaseException) -> bool:
    """Return whether an error means that the process cannot get more memory."""
    return isinstance(error, MemoryError) or bool(_SHORT.search(str(error)))
