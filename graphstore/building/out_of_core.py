"""Build a game out of core, by this process or a cluster: into a folder, or into a database."""

import os
import shutil
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Final, TypedDict, Unpack

from graphstore.building.from_folder import JOBS, FolderRows
from graphstore.building.parts import build
from graphstore.building.parts.workers import OwnProcess, Workers
from graphstore.building.saving import Clock, Report, save
from graphstore.errors import StoreError, StoreExistsError
from graphstore.games import are_those_of, rules_of
from graphstore.rules.game import Game, Progress, quiet
from graphstore.solver.estimate import machine_memory, sized
from graphstore.store.backend import REPLACE, Backend
from graphstore.store.folder.folder import Folder
from graphstore.store.store import find_backend
from graphstore.util import arguments

OVERHEAD: Final = 280_000_000  # bytes of a process before it has any state: measured
LEAST: Final = 400_000_000  # bytes that a process must have


class BuildOptions(TypedDict, total=False):
    """The options of `build_folder` and `build_out_of_core`.

    Attributes:
        below: positions to begin from, as text; by default the starts of the game.
        force: replace what is there; the agents of a database are kept.
        cluster: ``local:N`` for N processes here, or the address of a Dask scheduler whose workers
            see the folder by the same name; by default this process does all.
        parts: how many parts each wave has; by default as few as memory allows, and as all
            processes have work.
        memory: bytes that each process may take, at least 400 million; by default half of what
            this machine has, shared by the processes that are on it.
        max_states: how many states to allow, by default 100 million.
        progress: called with the phase and how far it is.
    """

    below: Sequence[str] | None
    force: bool
    cluster: str | None
    parts: int | None
    memory: int | None
    max_states: int | None
    progress: Progress


def build_folder(
    game: Game | str, folder: str | os.PathLike[str], **options: Unpack[BuildOptions]
) -> Report:
    """Explore and solve a game in parts, and leave it in a folder of Parquet files.

    Whatever stops it, the same call goes on after the last blocks that were done.

    Args:
        game: the rules, or a name for `graphstore.find_game`; for a cluster, rules that have one.
        folder: where; what is there before it is complete lies beside it.
        options: see `BuildOptions`.

    Raises:
        StoreExistsError: the folder is there and `force` is not given.
        StoreError: it cannot be written, or the cluster is gone.
        RulesError, TooLargeError: see `graphstore.explore`.
        PositionError: a text of `below` is not a position.
        MissingExtraError: pyarrow, or for a cluster distributed, is not installed.
    """
    clock = Clock()
    row = _build(rules_of(game), arguments.path("folder", folder), clock, **options).info
    return Report(
        file=os.fspath(folder),
        game=row["name"],
        **{name: row[name] for name in Report._fields if name in row},
        agents=(),
        seconds=clock.laps,
    )


def build_out_of_core(
    game: Game | str,
    target: str | os.PathLike[str],
    *,
    drop_agents: bool = False,
    **options: Unpack[BuildOptions],
) -> Report:
    """Build a game into a database by way of a folder beside it, which is removed at the end.

    Whatever stops it, the same call goes on after the last blocks that were done. For the game, the
    options and what is raised see `build_folder`, for the target `graphstore.load`; with `force`,
    the agents of the database that is replaced are kept unless `drop_agents`.
    """
    rules, force = rules_of(game), options.get("force", False)
    place = find_backend(target, "target").for_game(rules.name)
    if place.exists() and not force:
        raise StoreExistsError(f"{place.address} exists; {REPLACE}")
    path, clock = _beside(place, rules), Clock()
    made = Folder.open(path) if path.exists() else None
    if made is not None:  # an earlier call has built it, and could not load it
        name, version = made.info["name"], made.info["rules"]
        same = name == rules.name and are_those_of(rules, name, version)
        if not same or made.contents.below != _texts(options.get("below")):
            made = None
            if not force:
                raise StoreError(
                    f"{path} is there from another build; load it, or add --force (force=True) to "
                    "replace it"
                )
    if made is None:
        made = _build(rules, path, clock, with_digests=False, **options)  # loading makes them
    rows = FolderRows(made)
    report = save(
        rows.name,
        place,
        lambda _: rows,
        force=force,
        drop_agents=drop_agents,
        jobs=JOBS,
        progress=options.get("progress", quiet),
    )
    if not made.digests:  # else it was built to stay
        shutil.rmtree(path)
    return report._replace(seconds=clock.laps | report.seconds)


def _build(
    game: Game,
    folder: str | os.PathLike[str],
    clock: Clock,
    *,
    below: Sequence[str] | None = None,
    cluster: str | None = None,
    parts: int | None = None,
    memory: int | None = None,
    max_states: int | None = None,
    **options: Any,
) -> Folder:
    """Return the folder of a game that is built in parts; `clock` notes the seconds."""
    memory = arguments.limit("memory", memory)
    if memory is not None and memory < LEAST:
        raise StoreError(f"{sized(memory)} is too little memory: a process needs {sized(LEAST)}")
    found: AbstractContextManager[Workers] = nullcontext(OwnProcess())
    if cluster is not None:
        from graphstore.building.parts.cluster import cluster as workers_of

        found = workers_of(cluster)
    with found as workers:
        if memory is None:
            memory = machine_memory() // 2 // workers.size
        memory = max(memory, LEAST) - OVERHEAD
        return build.build(
            game,
            folder,
            workers=workers,
            memory=memory,
            below=_texts(below),
            parts=arguments.limit("parts", parts, least=1),
            max_states=arguments.limit("max_states", max_states),
            lap=clock.lap,
            **options,
        )


def _beside(place: Backend, game: Game) -> Path:
    """Return the folder from which a database is loaded: beside a file, else in this folder."""
    try:
        path = place.path
    except StoreError:
        name = "".join(each if each.isalnum() else "-" for each in game.name).strip("-")
        return Path(f"{name}.parts")
    return path.with_name(f"{path.name}.parts")


def _texts(below: Sequence[str] | None) -> tuple[str, ...]:
    return () if below is None else tuple(arguments.position_texts("below", below))
