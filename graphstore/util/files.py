"""Files that appear complete or not at all: lock a draft, write it, sync it, rename it.

A draft is a hidden file or folder in the folder of its target. A killed process leaves its draft
unlocked; the next process that writes the same target takes it over.
"""

import errno
import os
import re
import shutil
import stat
import time
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
_NOT_PLANTED: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Flags with which a link or a pipe that others have put in the place of a lock is not opened."""
PAUSES: Final = (0.01, 0.1, 0.5)  # seconds, for programs on Windows that scan a new file


@contextmanager
def locked_file(draft: Path, target: Path) -> Iterator[None]:
    """Create and lock an empty draft file; remove it at the end unless it was renamed.

    Those who cannot read a target that is replaced cannot read the draft.
    """
    # On Windows a locked file cannot be written, and an open file cannot be renamed.
    lock = draft.with_name(f"{draft.name}.lock") if WINDOWS else draft
    busy = f"another build is writing {draft}; wait for it, or name another file"
    mode = 0o600 | mode_of(target, 0o666)
    with _locked(lock, busy, mode):
        draft.write_bytes(b"")
        draft.chmod(draft.stat().st_mode & mode)  # a killed build left it
        try:
            yield
        finally:
            if WINDOWS:
                with suppress(OSError):
                    draft.unlink()


@contextmanager
def locked_folder(draft: Path, busy: str) -> Iterator[None]:
    """Create and lock a draft folder; remove it at the end if it is empty."""
    if draft.is_symlink():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    try:
        with _locked(draft / LOCK, busy):
            refuse_others(draft, draft.lstat())
            yield
    finally:
        with suppress(OSError):
            draft.rmdir()


@contextmanager
def _locked(path: Path, busy: str, mode: int = 0o666) -> Iterator[None]:
    """Lock a file and remove it at the end unless it was renamed.

    Raises:
        StoreError: another process holds the lock; `busy` is the message.
    """
    file = None
    try:
        with held_back():
            file = _lock(path, busy, mode)
        yield
    finally:
        if file is not None:
            with file, suppress(OSError):
                if _has_name(file, path):
                    if WINDOWS:
                        file.close()  # Windows cannot remove an open file
                    path.unlink()


def _lock(path: Path, busy: str, mode: int) -> BinaryIO:
    from filelock import lock_descriptor  # the import takes 50 ms; most commands lock nothing

    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NOT_PLANTED
    while True:
        existed = path.exists()
        try:
            file = os.fdopen(os.open(path, flags, mode & 0o777), "ab")
        except FileNotFoundError:
            if path.name != LOCK:
                raise
            with suppress(FileExistsError):
                path.parent.mkdir()
            continue
        except OSError as error:
            if not os.path.lexists(path):
                raise
            raise StoreError(f"{path} is in the way ({error.strerror}); remove it") from error
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
                found = os.fstat(file.fileno())
                if found.st_nlink == 1:
                    refuse_others(path, found)
                    stack.pop_all()
                    return file
                path.unlink()  # its owner was killed in `name_new`: the file is the target, too


def refuse_others(path: Path, found: os.stat_result) -> None:
    """Raise a StoreError if a draft belongs to another user, who could change what is written."""
    if not WINDOWS and found.st_uid != os.geteuid():
        raise StoreError(f"{path} belongs to another user; remove it, or choose another name")


def mode_of(path: Path, default: int) -> int:
    """Return the permissions of a file or folder; `default` if there is none."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return default


def keep_rights(target: Path, draft: Path) -> None:
    """Give a draft the permissions and, if this user may, the owner and group of its target."""
    with suppress(FileNotFoundError):
        found = target.stat()
        for owner in () if WINDOWS else (-1, found.st_uid):
            with suppress(OSError):
                os.chown(draft, owner, found.st_gid)
        draft.chmod(stat.S_IMODE(found.st_mode))


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
    rename(draft, target)  # does nothing if both names are hard links of one file


def rename(source: Path, target: Path, *, replace: bool = False) -> None:
    """Rename a file or folder; with `replace`, the target may be an existing file.

    Raises:
        StoreError: a program has the file open, or one in the folder, and this is Windows.
    """
    for pause in (*PAUSES, None):
        try:
            source.replace(target) if replace else source.rename(target)
            return
        except PermissionError as error:
            if not WINDOWS:
                raise
            if pause is None:
                named = target if replace and target.exists() else source
                raise StoreError(f"{named} is open in another program; close it there") from error
            time.sleep(pause)


def uri(path: Path, how: str) -> str:
    """Return the URI of an absolute path for SQLite, with options such as ``mode=ro``.

    >>> from pathlib import PureWindowsPath
    >>> uri(PureWindowsPath("C:/a b.db"), "mode=ro"), uri(PureWindowsPath("//host/x/a.db"), "")
    ('file:///C:/a%20b.db?mode=ro', 'file:////host/x/a.db?')
    """
    # SQLite refuses a URI with a host; that of a share is the first part of its path.
    return f"{re.sub('^file://(?=[^/])', 'file:////', path.as_uri())}?{how}"


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
    """Flush a folder and everything in it to the disk: first the files, then the names.

    Drafts are left out: a process may remove them meanwhile.
    """
    paths = [*(path for path in folder.rglob("*") if not path.name.startswith(".")), folder]
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
    with suppress(OSError), path.open("rb") as file:
        return checksum_of(file)
    return None


def checksum_of(file: Any) -> int:
    """Return the CRC-32 of the rest of a binary file."""
    found = 0
    while data := file.read(1 << 20):
        found = crc32(data, found)
    return found


def put(path: Path, write: Callable[[Summed], object]) -> int:
    """Create or replace a file with the output of `write`; of two writers the later one wins.

    Only the two innermost folders are created: a removed build must not come back. Return the
    CRC-32 of the file.
    """
    with _draft_of(path) as draft:
        for folder in (path.parent.parent, path.parent):
            folder.mkdir(exist_ok=True)
        with Summed(draft.open("xb", buffering=0)) as file:
            write(file)
        rename(draft, path, replace=True)
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
