"""A folder that is being built beside its target: locked, and given its name at the end."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from graphstore.building.parts.work import VERSION
from graphstore.errors import PositionError, RulesError, StoreError, StoreExistsError
from graphstore.store.folder.layout import MANIFEST, TABLES, WORK, draft_of
from graphstore.util.files import clear, explained, locked_folder, name_new, put

OURS: Final = {MANIFEST, *TABLES}
PLAN: Final = "plan.json"
OLD: Final = "old"  # where the old folder is while the new one takes its name


def target_of(folder: str | os.PathLike[str]) -> Path:
    """Return where a folder is, whatever links lead there; refuse a name that it cannot have."""
    target = Path(os.path.realpath(folder))
    try:
        str(target).encode()
    except UnicodeEncodeError:
        raise StoreError(f"{str(target)!r} is not UTF-8; name another folder") from None
    if not target.name:
        raise StoreError(f"{target} cannot be replaced; name a folder in it")
    return target


def check_free(target: Path, *, force: bool) -> None:
    """Refuse a target where something else is, or, unless by force, a game in parts."""
    if not target.parent.is_dir():
        raise StoreError(f"there is no folder {target.parent}; make it first")
    if not os.path.lexists(target):
        return
    names = {path.name for path in target.iterdir()} if target.is_dir() else {target.name}
    if not names:
        return
    if MANIFEST not in names:
        raise StoreError(f"{target} is not a game in parts; name another folder")
    if not force:
        raise StoreExistsError(f"{target} exists; add --force (force=True) to replace it")
    if names - OURS:
        others = ", ".join(sorted(names - OURS))
        raise StoreError(f"{target} has what graphstore did not make ({others}); move that first")


@contextmanager
def drafting(target: Path, plan: Mapping[str, Any], *, force: bool) -> Iterator[Path]:
    """Yield the draft of a folder, locked, as a plan has begun it; it takes its name at the end.

    The plan is what the same build is told again. `force` replaces the folder if there is one, and
    begins again what has another plan.
    """
    place = draft_of(target)
    if not (place / OLD).is_dir():
        check_free(target, force=force)
    busy = f"another build is writing {place}; wait for it, or name another folder"
    with ExitStack() as stack:
        with explained(target):
            stack.enter_context(locked_folder(place, busy))
        if (place / OLD).is_dir() and not target.exists():
            (place / OLD).rename(target)  # a build was killed just before its end
        check_free(target, force=force)
        try:
            path = _begun(place, plan, force=force)
            yield path
        except (RulesError, PositionError):  # to which the same call could only come again
            clear(place)
            raise
        check_free(target, force=force)  # another program may have made it meanwhile
        shutil.rmtree(path / WORK, ignore_errors=True)
        with suppress(OSError):
            target.rmdir()  # if it is empty
        if force and target.exists():
            target.rename(place / OLD)
        name_new(path, target)
        clear(place)


def _begun(place: Path, plan: Mapping[str, Any], *, force: bool) -> Path:
    """Return the folder that a plan has begun, in this version; else begin.

    Each that is begun has another path, so that steps of one that was given up, which a worker may
    still be taking, write nothing there.
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
            f"{place} was begun otherwise ({differ}); give the same again to go on, or add --force "
            "(force=True) to begin again"
        )
    clear(place)
    token = uuid4().hex[:8]
    path = place / token
    with explained(path):
        (path / WORK).mkdir(parents=True)
    text = json.dumps({"version": VERSION, "plan": plan, "token": token})
    put(place / PLAN, lambda out: out.write(text.encode()))
    return path
