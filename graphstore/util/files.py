"""Files that appear complete or not at all: lock a draft, write it, sync it, rename it.

A draft is a hidden file or folder beside its target. A killed process leaves its draft unlocked;
the next process that writes the same target takes it over.
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
LOCK: Final = "lock"  # the file in a draft folder that is locked


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
    """Make and lock a draft that is a folder; remove it at the end if it is empty."""
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
    """Lock a file, or raise `busy` as a StoreError; at the end remove it unless it was renamed."""
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
                        file.close()  # an open file cannot be removed there
                    path.unlink()


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
            if _has_name(file, path):  # else its owner has just renamed or removed it
                if os.fstat(file.fileno()).st_nlink == 1:
                    stack.pop_all()
                    return file
                path.unlink()  # its owner was killed within `name_new`, and it is the target, too


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
    """Raise a StoreExistsError if a name is taken, even by a dangling link."""
    if os.path.lexists(path):
        raise StoreExistsError(f"{path}: {os.strerror(errno.EEXIST)}")


def name_new(draft: Path, target: Path) -> None:
    """Rename a draft unless the name is taken; the caller removes what is left of the draft."""
    refuse_existing(target)  # a rename would replace an empty folder
    if not WINDOWS and not draft.is_dir():  # else a rename replaces nothing
        try:
            os.link(draft, target)
        except OSError:  # there may be no hard links on this file system
            refuse_existing(target)
    draft.rename(target)  # does nothing where both are names of one file


def sync(path: Path) -> None:
    """Write a file, or the names in a folder, through to the disk."""
    is_folder = path.is_dir()
    with suppress(OSError) if is_folder else nullcontext():  # not every system syncs folders
        descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def new_file(name: str, *, keep: bool = True) -> Iterator[TextIO]:
    """Yield a new file to write to, which gets its name at the end unless there was an error.

    Without `keep` it gets none: the block shows whether the file could be made.
    """
    path = Path(name)
    refuse_existing(path)
    with _beside(path) as draft:
        with draft.open("x", encoding="utf-8") as file:
            yield file
        if keep:
            name_new(draft, path)


def put(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Make or replace a file by what a function writes; of two at once the later one stays.

    It makes at most two folders, so that no step restores a build that was removed.
    """
    with _beside(path) as draft:
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
    """Yield a new name for a draft; remove the draft at the end, and explain errors."""
    draft = path.with_name(f".{path.name}.{os.urandom(6).hex()}")
    with explained(path):
        try:
            yield draft
        finally:
            with suppress(OSError):
                draft.unlink()
