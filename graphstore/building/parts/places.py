"""Places where the processes of a build exchange files: a folder, or a prefix in an object store.

A file has a relative name with slashes, and appears under it whole or not at all.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from mmap import ACCESS_READ, mmap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from graphstore.errors import AddressError, MissingExtraError, StoreError, shown
from graphstore.store.folder.layout import WORK
from graphstore.util.extras import extra, short_of_memory
from graphstore.util.files import Summed, checksum, checksum_of, put

HEAD: Final = 1 << 16  # bytes of an object that the first request for it reads
SMALL: Final = 1 << 17  # bytes of a file that is read faster than it is mapped
BEGUN: Final = "begun"  # an object that is there as long as the build needs its objects
AT_ONCE: Final = frozenset(("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "oss"))
"""Protocols of stores where what is uploaded appears at once; elsewhere it is renamed."""

_URL: Final = re.compile(r"[a-z][a-z0-9+]*://[^\s?*\[\]#]+", re.IGNORECASE)


class SharedFolder:
    """A folder that all workers see; large files are mapped."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    def located(self, name: str) -> str:
        """Return the path or the address of a file."""
        return str(self.path / name)

    def is_begun(self) -> bool:
        """Return whether this process sees the files of the build."""
        return (self.path / WORK).is_dir()

    def put(self, name: str, write: Callable[[Summed], object]) -> int:
        """Create or replace a file with the output of `write`; return its CRC-32."""
        return put(self.path / name, write)

    def read(self, name: str) -> memoryview:
        """Return the bytes of a file, to be sliced; raise a FileNotFoundError without one."""
        with (self.path / name).open("rb") as file:
            small = os.fstat(file.fileno()).st_size <= SMALL
            return memoryview(file.read() if small else mmap(file.fileno(), 0, access=ACCESS_READ))

    def checksum(self, name: str) -> int | None:
        """Return the CRC-32 of a file, or None if it cannot be read."""
        return checksum(self.path / name)

    def names(self, under: str) -> list[str]:
        """Return the names of the files under a folder, however deep."""
        found = (self.path / under).rglob("*")
        return sorted(each.relative_to(self.path).as_posix() for each in found if each.is_file())

    def remove(self, names: Iterable[str]) -> None:
        """Remove files; some may not exist."""
        for name in names:
            # On Windows an abandoned step may have it open.
            with suppress(PermissionError):
                (self.path / name).unlink(missing_ok=True)


class Objects:
    """A prefix in an object store that all workers reach by fsspec; see `SharedFolder`."""

    def __init__(self, url: str) -> None:
        with extra("--exchange needs fsspec: pip install s3fs"):
            from fsspec.core import url_to_fs

        self.url = url
        try:
            self._files, self._root = url_to_fs(url)
        except ImportError as error:
            raise MissingExtraError(f"cannot use {url}: {error}") from error
        except ValueError as error:
            raise AddressError(f"cannot use {url}: {error}") from error
        self._renames = urlsplit(url).scheme.lower() not in AT_ONCE

    def located(self, name: str) -> str:
        return f"{self.url}/{name}"

    def begin(self) -> None:
        """Let other processes see the place."""
        self._put(BEGUN, lambda file: file.write(b"graphstore\n"))

    def end(self) -> None:
        """Remove all files."""
        with suppress(FileNotFoundError), self._explained(FileNotFoundError):
            self._files.rm_file(self._at(BEGUN))  # first: see `put`
        with suppress(FileNotFoundError), self._explained(FileNotFoundError):
            self._files.invalidate_cache()
            self._files.rm(self._root, recursive=True)

    def is_begun(self) -> bool:
        try:
            self.read(BEGUN)
        except FileNotFoundError:
            return False
        return True

    def put(self, name: str, write: Callable[[Summed], object]) -> int:
        found = self._put(name, write)
        if not self.is_begun():  # the build has ended without this step
            self.remove([name])
            raise StoreError(f"{self.url} was removed by the build")
        return found

    def read(self, name: str) -> "_Ranges":
        def fetch(begin: int, end: int | None) -> bytes:
            with self._explained(FileNotFoundError):
                held: bytes = self._files.cat_file(self._at(name), start=begin, end=end)
                return held

        return _Ranges(fetch)

    def checksum(self, name: str) -> int | None:
        try:
            with self._explained(FileNotFoundError), self._opened(name) as file:
                return checksum_of(file)
        except FileNotFoundError:
            return None

    def names(self, under: str) -> list[str]:
        with self._explained():
            self._files.invalidate_cache()  # other processes write, too
            found = self._files.find(self._at(under))
        return sorted(each.removeprefix(f"{self._root}/") for each in found)

    def remove(self, names: Iterable[str]) -> None:
        paths = [self._at(name) for name in names]
        with suppress(FileNotFoundError), self._explained(FileNotFoundError):
            if paths:
                self._files.rm(paths)

    def fetch(self, name: str, path: Path) -> int:
        """Copy a file to a path, all or nothing; return its CRC-32."""
        with self._explained(), self._opened(name) as file:
            return put(path, lambda out: shutil.copyfileobj(file, out, 1 << 20))

    def _put(self, name: str, write: Callable[[Summed], object]) -> int:
        at = self._at(name)
        with TemporaryDirectory(prefix="graphstore-") as folder:
            path = Path(folder) / "file"
            found = put(path, write)
            with self._explained():
                if self._renames:
                    draft = f"{at}.{os.urandom(6).hex()}"
                    self._files.makedirs(at.rpartition("/")[0], exist_ok=True)
                    self._files.put_file(str(path), draft)
                    self._files.mv(draft, at)
                else:
                    self._files.put_file(str(path), at)
        return found

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _opened(self, name: str) -> Any:
        return self._files.open(self._at(name), "rb")

    @contextmanager
    def _explained(self, *passing: type[Exception]) -> Iterator[None]:
        """Raise any error of the store as a StoreError of one line, but those `passing`."""
        try:
            yield
        except Exception as error:  # the packages of the stores raise errors of their own
            if isinstance(error, (StoreError, *passing)) or short_of_memory(error):
                raise
            why = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise StoreError(
                f"cannot use {self.url} ({why}); check that it exists, the credentials and the "
                "server, then run the same command again to resume"
            ) from error


Place: TypeAlias = SharedFolder | Objects


@lru_cache(maxsize=4)
def place_of(where: str) -> Place:
    """Return the place at a path or an address."""
    return Objects(where) if "://" in where else SharedFolder(where)


class _Ranges:
    """An object: its first bytes, and requests for others."""

    def __init__(self, fetch: Callable[[int, int | None], bytes]) -> None:
        self._fetch, self._head = fetch, fetch(0, HEAD)

    def __getitem__(self, some: slice, /) -> bytes:
        most = HEAD + 1 if some.stop is None else some.stop
        if most <= len(self._head) or len(self._head) < HEAD:
            return self._head[some]
        return self._fetch(some.start or 0, some.stop)


def exchange_url(url: str) -> str:
    """Return the address of a place for exchange.

    Raises:
        AddressError: it is not one, or has a password.
        MissingExtraError: the package for it is not installed.
    """
    if not _URL.fullmatch(url) or "::" in url or url.lower().startswith("memory:"):
        raise AddressError(
            f"{shown(url)} is not a place that all workers reach; give --exchange (exchange=) an "
            "address such as s3://bucket/prefix"
        )
    if urlsplit(url).password is not None:
        raise AddressError(
            "leave the password out of --exchange (exchange=), and put it into the configuration "
            "of fsspec on every machine"
        )
    return Objects(url.rstrip("/")).url  # its packages are there
