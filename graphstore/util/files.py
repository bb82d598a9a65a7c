"""Files that appear complete or not at all: lock a draft, write it, sync it, rename it.

A draft is a hidden file or folder in the folder of its target. A killed process leaves its draft
unlocked; the next process that writes the same target takes it over.
"""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from io import BufferedWriter
from pathlib import Path
from typing import Any, BinaryIO, Final, TextIO
from zlib import crc32

from graphstore.errors import StoreError, StoreExistsError
from graphstore.util.signals import held_back

WINDOWS: Final = os.name == "nt"
LOCK: Final = "lock"  # the file in a draft folder that is locked


@contextmanager
def locked_file(draft: Path) -> Iterator[None]:
    """Create and lock an empty draft file; remove it at the end unless it was renamed."""
    # On Windows a locked file cannot be written, and an open file cannot be renamed.
    lock = draft.with_name(f"{draft.name}.lock") if WINDOWS else draft
    with _locked(lock, f"another build is writing {draft}; wait for it, or name another file"):
        draft.write_bytes(b"")
        try:
            yield
        finally:
            if WINDOWS:
                draft.unlink(missing_ok=True)


@contextmanager
def locked_folder(draft: Path, busy: str) -> Iterator[None]:
    """Create and lock a draft folder; remove it at the end if it is empty."""
    if draft.is_symlink():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    try:
        with _locked(draft / LOCK, busy):
            yield
    finally:
        with suppress(OSError):
            draft.rmdir()


@contextmanager
def _locked(path: Path, busy: str) -> Iterator[None]:
    """Lock a file and remove it at the end unless it was renamed.

    Raises:
        StoreError: another process holds the lock; `busy` is the message.
    """
    file = None
    try:
        with held_back():
            file = _lock(path, busy)
        yield
    finally:
        if file is not None:
            with file, suppress(OSError):
                if _has_name(file, path):
                    if WINDOWS:
                        file.close()  # Windows cannot remove an open file
                    path.unlink()


def _lock(path: Path, busy: str) -> BinaryIO:
    from filelock import lock_descriptor  # the import takes 50 ms; most commands lock nothing

    while True:
        existed = path.exists()
        try:
            file = path.open("ab")
        except FileNotFoundError:
            if path.name != LOCK:
                raise
            with suppress(FileExistsError):
                path.parent.mkdir()
            continue
        with ExitStack() as stack:
            stack.callback(file.close)
            try:
                locked = lock_descriptor(file.fileno(), blocking=False)
            except OSError:  # this file system may lack locks
                if not existed:
                    path.unlink(missing_ok=True)
                raise
            if not locked:
                raise StoreError(busy)
            if _has_name(file, path):  # else its owner has just renamed or removed it; try again
                if os.fstat(file.fileno()).st_nlink == 1:
                    stack.pop_all()
                    return file
                path.unlink()  # its owner was killed in `name_new`: the file is the target, too


def _has_name(file: BinaryIO, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    return False


def clear(draft: Path) -> None:
    """Remove the contents of a locked folder, except its lock."""
    with suppress(OSError):
        for path in list(draft.iterdir()):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != LOCK:
                path.unlink()


def refuse_existing(path: Path) -> None:
    """Raise a StoreExistsError if the path exists, even as a dangling link."""
    if os.path.lexists(path):
        raise StoreExistsError(f"{path} exists; remove it, or name another")


def name_new(draft: Path, target: Path) -> None:
    """Rename a draft to its target, or raise a StoreExistsError if the target exists.

    The draft may keep its own name, too; the caller removes it.
    """
    refuse_existing(target)  # a rename would replace an empty folder
    if not WINDOWS and not draft.is_dir():  # a rename would replace an existing file
        try:
            os.link(draft, target)
        except OSError:  # this file system may lack hard links
            refuse_existing(target)
    draft.rename(target)  # does nothing if both names are hard links of one file


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk."""
    is_folder = path.is_dir()
    with suppress(OSError) if is_folder else nullcontext():  # not every system syncs folders
        descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def new_file(name: str, *, keep: bool = True) -> Iterator[TextIO]:
    """Yield a new file to write to; it gets its name at the end if the block raised no error.

    With ``keep=False`` the file is removed: the block only tests that it can be created.
    """
    path = Path(name)
    refuse_existing(path)
    with _draft_of(path) as draft:
        with draft.open("x", encoding="utf-8") as file:
            yield file
        if keep:
            name_new(draft, path)


def sync_all(folder: Path) -> None:
    """Flush a folder and everything in it to the disk: first the files, then the names."""
    paths = [*folder.rglob("*"), folder]
    for path in sorted(paths, key=lambda path: (path.is_dir(), -len(path.parts))):
        sync(path)


class Summed(BufferedWriter):
    """A new binary file; `checksum` is the CRC-32 of the bytes written so far."""

    checksum = 0

    def write(self, data: Any) -> int:
        """Write bytes."""
        self.checksum = crc32(data, self.checksum)
        return super().write(data)


def checksum(path: Path) -> int | None:
    """Return the CRC-32 of a file, or None if it cannot be read."""
    found = 0
    with suppress(OSError), path.open("rb") as file:
        while data := file.read(1 << 20):
            found = crc32(data, found)
        return found
    return None


def put(path: Path, write: Callable[[Summed], object]) -> int:
    """Create or replace a file with the output of `write`; of two writers the later one wins.

    Only the two innermost folders are created: a removed build must not come back. Return the
    CRC-32 of the file.
    """
    with _draft_of(path) as draft:
        for folder in (path.parent.parent, path.parent):
            folder.mkdir(exist_ok=True)
        with Summed(draft.open("wb", buffering=0)) as file:
            write(file)
        draft.replace(path)
    return file.checksum


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Raise an OSError of the block as a StoreError of one line that names the path."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        what = f"{path}: {error.strerror or error}"
        if isinstance(error, FileNotFoundError) and not path.parent.is_dir():
            what = f"there is no folder {path.parent}; create it first"
        raise StoreError(what) from error


@contextmanager
def _draft_of(path: Path) -> Iterator[Path]:
    """Yield a new draft path; remove the draft at the end, and explain errors."""
    draft = path.with_name(f".{path.name}.{os.urandom(6).hex()}")
    with explained(path):
        try:
            yield draft
        finally:
            with suppress(OSError):
                draft.unlink()
