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


class Draft:
    """A folder that can take the name of its target.

    Attributes:
        path: where it is. Each that is begun anew has a path of its own, so that steps of one that
            was given up, which a worker may still be taking, write nothing here.
    """

    def __init__(self, path: Path, target: Path, *, force: bool) -> None:
        self.path = path
        self._target = target
        self._force = force

    def finish(self) -> None:
        """Give it the name of its target, whose old contents are removed."""
        check_free(self._target, force=self._force)  # somebody may have made it meanwhile
        shutil.rmtree(self.path / WORK, ignore_errors=True)
        with suppress(OSError):
            self._target.rmdir()  # if it is empty
        if self._force and self._target.exists():
            self._target.rename(self.path.parent / OLD)
        name_new(self.path, self._target)
        clear(self.path.parent)


def target_of(folder: str | os.PathLike[str]) -> Path:
    """Return where a folder is, whatever links lead there.

    Raises:
        StoreError: it has no name of its own, or none that files of others can have.
    """
    target = Path(os.path.realpath(folder))
    try:
        str(target).encode()
    except UnicodeEncodeError:
        raise StoreError(f"{str(target)!r} is not UTF-8; name another folder") from None
    if not target.name:
        raise StoreError(f"{target} cannot be replaced; name a folder in it")
    return target


def check_free(target: Path, *, force: bool) -> None:
    """Refuse a target where something else is, or, unless by force, a game in parts.

    Raises:
        StoreExistsError, StoreError: see there.
    """
    if not target.parent.is_dir():
        raise StoreError(f"there is no folder {target.parent}; make it first")
    if not os.path.lexists(target):
        return
    names = {path.name for path in target.iterdir()} if target.is_dir() else {target.name}
    if not names:
        return
    if MANIFEST not in names:
        raise StoreError(f"{target} is there, and no game in parts; name another folder")
    if not force:
        raise StoreExistsError(f"{target} exists; add --force (force=True) to replace it")
    if names - OURS:
        others = ", ".join(sorted(names - OURS))
        raise StoreError(f"{target} has what graphstore did not make ({others}); move that first")


@contextmanager
def drafting(target: Path, plan: Mapping[str, Any], *, force: bool) -> Iterator[Draft]:
    """Lend the draft of a folder, which no other build is writing, and which a plan has begun.

    Args:
        target: see `target_of`.
        plan: what the same build would be told again; ``name`` of the game among it.
        force: replace the folder if there is one, and begin anew what has another plan.

    Raises:
        StoreExistsError, StoreError: see `check_free`; or it is being written, or cannot be.
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
            yield Draft(_begun(place, plan, force=force), target, force=force)
        except (RulesError, PositionError):  # to which the same call could only come again
            clear(place)
            raise


def _begun(place: Path, plan: Mapping[str, Any], *, force: bool) -> Path:
    """Return the folder that a plan has begun, in this version; else begin.

    Raises:
        StoreError: another plan has begun it, and `force` is not given.
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
            "(force=True) to begin anew"
        )
    clear(place)
    token = uuid4().hex[:8]
    path = place / token
    with explained(path):
        (path / WORK).mkdir(parents=True)
    text = json.dumps({"version": VERSION, "plan": plan, "token": token})
    put(place / PLAN, lambda out: out.write(text.encode()))
    return path
