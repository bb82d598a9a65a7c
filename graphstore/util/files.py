"""Files that appear complete or not at all: lock a draft, write it, sync it, give it its name.

A draft lies beside its target, hidden, and is locked while it is written. A killed process leaves
its draft, which is then not locked; the next process that writes the same target takes it over.
"""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO, Final, TextIO

from graphstore.errors import StoreError, StoreExistsError
from graphstore.util.signals import held_back

WINDOWS: Final = os.name == "nt"
LOCK: Final = "lock"
"""The file in a draft folder that is locked."""


@contextmanager
def locked_file(draft: Path) -> Iterator[None]:
    """Lock an empty draft that is a file; remove it at the end unless it was renamed."""
    # On Windows a locked file cannot be written, nor an open one renamed.
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
    """Make and lock a draft that is a folder; remove it at the end if it is empty.

    If another process has locked it, a StoreError says that it is `busy`.
    """
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
    """Lock a file; remove it at the end if it still has its name."""
    file = None
    try:
        with held_back():
            file = _lock(path, busy)
        yield
    finally:
        if file is not None:
            ours = _has_name(file, path)
            if WINDOWS:
                file.close()  # there, an open file cannot be removed
            if ours:
                with suppress(OSError):
                    path.unlink()
            file.close()


def _lock(path: Path, busy: str) -> BinaryIO:
    from filelock import lock_descriptor  # takes 50 ms, and most commands lock nothing

    while True:
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
            if not lock_descriptor(file.fileno(), blocking=False):
                raise StoreError(busy)
            if not _has_name(file, path):
                continue  # its owner has just renamed or removed it
            if os.fstat(file.fileno()).st_nlink > 1:
                path.unlink()  # its owner was killed within `name_new`, and it is the target, too
                continue
            stack.pop_all()
            return file


def _has_name(file: BinaryIO, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    return False


def clear(draft: Path) -> None:
    """Remove what is in a locked folder, except its lock."""
    with suppress(OSError):
        for path in list(draft.iterdir()):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != LOCK:
                path.unlink()


def refuse_existing(path: Path) -> None:
    """Raise a StoreExistsError if a name is taken, be it by a link that leads nowhere."""
    if os.path.lexists(path):
        raise StoreExistsError(f"{path}: {os.strerror(errno.EEXIST)}")


def name_new(draft: Path, target: Path) -> None:
    """Give a draft its name unless that is taken; the caller removes what is left of the draft."""
    refuse_existing(target)  # of folders, a rename would replace an empty one
    if not WINDOWS and not draft.is_dir():  # else a rename replaces nothing
        try:
            os.link(draft, target)
        except OSError:  # there may be no hard links on this file system
            refuse_existing(target)
    draft.rename(target)  # does nothing where both are names of one file


def sync(path: Path) -> None:
    """Ask the system to have a file, or the names in a folder, on the disk."""
    is_folder = path.is_dir()
    with suppress(OSError) if is_folder else nullcontext():  # not every system syncs folders
        descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def new_file(name: str, *, keep: bool = True) -> Iterator[TextIO]:
    """Yield a file to write to, which gets its name at the end; after an error there is none.

    Args:
        name: of the file.
        keep: False to leave no file, which shows whether it could be made.

    Raises:
        StoreExistsError: the name is taken.
        StoreError: it cannot be written.
    """
    path = Path(name)
    refuse_existing(path)
    with explained(path), _beside(path) as draft:
        with draft.open("x", encoding="utf-8") as file:
            yield file
        if keep:
            name_new(draft, path)


def put(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Make a file, or replace it, by what a function writes to a binary file.

    It makes at most two folders: where a build was removed, no step restores it. A process that was
    given up too early may write the same file at the same time; the later one replaces the other's.

    Raises:
        StoreError: it cannot be written.
    """
    with explained(path), _beside(path) as draft:
        for folder in (path.parent.parent, path.parent):
            folder.mkdir(exist_ok=True)
        with draft.open("wb") as file:
            write(file)
        draft.replace(path)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn an error of the file system into one line about a path."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """Yield a new name for a draft; remove what has it at the end."""
    draft = path.with_name(f".{path.name}.{os.urandom(6).hex()}")
    try:
        yield draft
    finally:
        with suppress(OSError):
            draft.unlink()
