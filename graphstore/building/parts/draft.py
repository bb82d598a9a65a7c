"""The draft of a folder: locked, next to its target, and renamed to it at the end."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from graphstore.building.parts.places import BEGUN, Objects, place_of
from graphstore.building.parts.work import VERSION, damaged
from graphstore.errors import (
    GraphstoreError,
    NotAStoreError,
    PositionError,
    RulesError,
    StoreError,
    StoreExistsError,
)
from graphstore.store.folder.folder import Folder
from graphstore.store.folder.layout import MANIFEST, TABLES, WORK, draft_of
from graphstore.util.files import (
    checksum,
    clear,
    explained,
    keep_rights,
    locked_folder,
    mode_of,
    name_new,
    put,
    rename,
    sync,
    sync_all,
)

OURS: Final = {MANIFEST, *TABLES}
PLAN: Final = "plan.json"
FETCHING: Final = 8  # files that are fetched from an exchange at once
OLD: Final = "old"  # the old folder, while the new one is renamed


def target_of(folder: str | os.PathLike[str]) -> Path:
    """Return the path of a folder with links resolved; raise if it cannot be a target."""
    target = Path(os.path.realpath(folder))
    try:
        str(target).encode()
    except UnicodeEncodeError:
        raise StoreError(f"{str(target)!r} is not UTF-8; choose another folder") from None
    if not target.name:
        raise StoreError(f"{target} cannot be replaced; choose a folder in it")
    return target


def check_free(target: Path, *, force: bool) -> None:
    """Raise if a target holds anything but a game in parts, or, without `force`, one of these."""
    if not target.parent.is_dir():
        raise StoreError(f"there is no folder {target.parent}; create it first")
    if not os.path.lexists(target):
        return
    names = {path.name for path in target.iterdir()} if target.is_dir() else {target.name}
    if not names:
        return
    if MANIFEST not in names:
        raise StoreError(f"{target} is not a game in parts; choose another folder")
    if not force:
        raise StoreExistsError(f"{target} exists; add --force (force=True) to replace it")
    if names - OURS:
        others = ", ".join(sorted(names - OURS))
        raise StoreError(f"{target} has files of other programs ({others}); move them first")
    try:
        Folder.open(target)
    except NotAStoreError:
        if names == {MANIFEST}:  # else it is damaged
            raise StoreError(f"{target} is not a game in parts; choose another folder") from None


@contextmanager
def drafting(target: Path, plan: Mapping[str, Any], *, force: bool) -> Iterator[Path]:
    """Yield the draft of a folder, locked; rename it to `target` at the end.

    `plan` is the game and the options of the build: a draft with the same plan is resumed. `force`
    replaces an existing folder, and begins again if the draft has another plan.
    """
    place = draft_of(target)
    if not (place / OLD).is_dir():
        check_free(target, force=force)
    busy = f"another build is writing {place}; wait for it, or choose another folder"
    with ExitStack() as stack:
        with explained(target):
            stack.enter_context(locked_folder(place, busy))
        if (place / OLD).is_dir() and not target.exists():
            rename(place / OLD, target)  # a build was killed just before its end
        check_free(target, force=force)
        if target.exists():
            place.chmod(0o700 | mode_of(target, 0))
        try:
            path = _begun(place, plan, force=force)
            yield path
        except (RulesError, PositionError):  # a resumed build would only raise it again
            _give_up(place)
            raise
        check_free(target, force=force)  # another program may have created it meanwhile
        shutil.rmtree(path / WORK, ignore_errors=True)
        keep_rights(target, path)
        _clean(path)
        sync_all(path)
        with suppress(OSError):
            target.rmdir()  # if it is empty
        if force and target.exists():
            rename(target, place / OLD)
        name_new(path, target)
        _clean(target)  # an abandoned step may have begun one
        sync(target.parent)
        clear(place)


def _give_up(place: Path) -> None:
    """Remove a draft, and what it has in an exchange, if that can be reached."""
    with suppress(OSError, ValueError, TypeError, LookupError, RecursionError, GraphstoreError):
        begun = json.loads((place / PLAN).read_bytes())
        objects = place_of(f"{begun['plan']['exchange']}/{begun['token']}")
        if isinstance(objects, Objects):
            objects.end()
    clear(place)


def exchanging(path: Path, exchange: str) -> Objects:
    """Return the place of the files of a draft in an exchange, which the build begins or resumes.

    Raises:
        StoreError: the exchange cannot be used, or has lost the files.
    """
    objects, begun = Objects(f"{exchange}/{path.name}"), path / WORK / BEGUN
    if (path / MANIFEST).is_file():  # they are not needed any more
        return objects
    if begun.exists() and not objects.is_begun():
        raise StoreError(
            f"{objects.url} has lost the files of this build; remove {path.parent} and begin again"
        )
    objects.begin()
    begun.touch()
    return objects


def fetch(objects: Objects, path: Path, sums: Mapping[str, int]) -> None:
    """Copy files from an exchange into a draft, except those that are there; `sums` are CRC-32."""

    def fetch_one(name: str) -> None:
        if checksum(path / name) != sums[name] and objects.fetch(name, path / name) != sums[name]:
            raise damaged(objects.located(name))

    with ThreadPoolExecutor(FETCHING) as threads:
        list(threads.map(fetch_one, sums))


def _clean(folder: Path) -> None:
    """Remove the drafts of files that processes did not complete."""
    for left in folder.rglob(".*"):
        with suppress(OSError):  # it was completed meanwhile, or removed
            left.unlink()


def _begun(place: Path, plan: Mapping[str, Any], *, force: bool) -> Path:
    """Return the folder of the draft, if it has the same plan and version; otherwise begin one.

    Every build that begins has a new path. So a worker that still takes a step of an earlier build
    does not write into it.
    """
    path, before = place, None
    try:
        begun = json.loads((place / PLAN).read_bytes())
        if begun["version"] == VERSION:
            before, path = begun["plan"], place / str(begun["token"])
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        pass  # of an older version, or damaged
    if before == plan and path.is_dir() and path != place:
        return path
    if isinstance(before, dict) and before != plan and not force:
        differ = "; ".join(
            f"{name} {before.get(name)}, not {plan[name]}"
            for name in plan
            if before.get(name) != plan[name]
        )
        raise StoreError(
            f"{place} was begun with other options ({differ}); use those to resume, or add "
            "--force (force=True) to begin again"
        )
    _give_up(place)
    token = uuid4().hex[:8]
    path = place / token
    with explained(path):
        (path / WORK).mkdir(parents=True)
    text = json.dumps({"version": VERSION, "plan": plan, "token": token})
    put(place / PLAN, lambda out: out.write(text.encode()))
    return path
