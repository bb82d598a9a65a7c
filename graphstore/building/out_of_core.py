"""Build a game out of core, in this process or on a cluster, into a folder or a database."""

import os
import shutil
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, TypedDict, Unpack

from graphstore.building.from_folder import JOBS, FolderRows
from graphstore.building.parts import build
from graphstore.building.parts.workers import OwnProcess, Workers
from graphstore.building.saving import Clock, Report, beside, refuse_target, save
from graphstore.errors import StoreError
from graphstore.games import are_those_of, rules_of
from graphstore.rules.adapter import check_reading
from graphstore.rules.game import Game, Progress, quiet
from graphstore.rules.plain import PlainGame
from graphstore.solver.estimate import sized
from graphstore.store.folder.folder import Folder
from graphstore.store.store import find_backend
from graphstore.util import arguments
from graphstore.util.files import refuse_others
from graphstore.util.memory import machine_memory

OVERHEAD: Final = 280_000_000  # bytes of a process without any state, as measured
LEAST: Final = 400_000_000  # the fewest bytes that `memory` may be


class BuildOptions(TypedDict, total=False):
    """The options of `build_folder` and `build_out_of_core`.

    Attributes:
        below: positions to begin from, as text; by default the starts of the game.
        force: replace an existing game; the agents of a database are kept.
        cluster: ``local:N`` for N processes on this machine, or the address of a Dask scheduler
            whose workers see the folder under the same path; by default this process alone.
        tls: for a ``tls://`` scheduler, PEM files: the certificate of the authority, that of this
            client, and its key; by default those of Dask's configuration.
        exchange: where the workers exchange files if they do not see the folder, as fsspec writes
            it, such as ``s3://bucket/prefix``; the game is fetched from there at the end.
        parts: the number of parts of each wave, fewer where they would have less than 50,000
            states; by default the fewest that fit into memory and give every process work.
        memory: bytes for each process, at least 400 million; by default half of the memory of this
            machine, divided by the number of processes.
        max_states: the most states to allow, by default 100 million.
        progress: called with the phase, the number done and the total, if known.
    """

    below: Sequence[str] | None
    force: bool
    cluster: str | None
    tls: tuple[str, str, str] | None
    exchange: str | None
    parts: int | None
    memory: int | None
    max_states: int | None
    progress: Progress


def build_folder(
    game: Game | PlainGame | str,
    folder: str | os.PathLike[str],
    *,
    edges: bool = True,
    **options: Unpack[BuildOptions],
) -> Report:
    """Explore and solve a game in parts, and write it to a folder of Parquet files.

    After an interruption, the same call resumes after the last complete blocks.

    Args:
        game: the rules, or a name for `graphstore.find_game`; on a cluster, rules with a name.
        folder: the folder to write; until it is complete, a draft next to it holds the files.
        edges: False to write no files of edges, for a built-in game: its moves follow from the
            rules, and whatever reads edges expands the states again.
        options: see `BuildOptions`.

    Raises:
        StoreExistsError: the folder exists and `force` is not given.
        StoreError: the folder cannot be written, or the cluster is lost.
        RulesError, TooLargeError: see `graphstore.explore`.
        PositionError: a text of `below` is not a position.
        MissingExtraError: pyarrow, or for a cluster distributed, is not installed.
    """
    clock = Clock()
    target = arguments.path("folder", folder)
    row = _build(rules_of(game), target, clock, with_edges=edges, **options).info
    return Report(
        file=os.fspath(folder),
        game=row["name"],
        **{name: row[name] for name in Report._fields if name in row},
        agents=(),
        seconds=clock.laps,
    )


def build_out_of_core(
    game: Game | PlainGame | str,
    target: str | os.PathLike[str],
    *,
    drop_agents: bool = False,
    **options: Unpack[BuildOptions],
) -> Report:
    """Build a game into a folder of Parquet files, load it into a database, and remove the folder.

    After an interruption, the same call resumes after the last complete blocks. See `build_folder`
    for the game, the options and the exceptions, and `graphstore.load` for the target. `force`
    keeps the agents of the old game, unless `drop_agents` is given.
    """
    rules, force = rules_of(game), options.get("force", False)
    place = find_backend(target, "target").for_game(rules.name)
    if place.exists():
        refuse_target(place, rules.name, force=force, drop_agents=drop_agents)
    path, clock = beside(place, rules.name, "parts"), Clock()
    if os.path.lexists(path):
        refuse_others(path, path.lstat())
    built = Folder.open(path) if path.exists() else None
    if built is not None:  # by an earlier call, which did not load it
        name, version = built.info["name"], built.info["rules"]
        same = name == rules.name and are_those_of(rules, name, version)
        if not same or built.contents.below != _texts(options.get("below")):
            built = None
            if not force:
                raise StoreError(
                    f"{path} exists and holds another build; load it, or add --force (force=True) "
                    "to replace it"
                )
    if built is None:
        # Loading computes the digests.
        built = _build(rules, path, clock, with_digests=False, **options)
    rows = FolderRows(built)
    report = save(
        rows.name,
        place,
        lambda _: rows,
        force=force,
        drop_agents=drop_agents,
        jobs=JOBS,
        progress=options.get("progress", quiet),
    )
    if not built.digests:  # a folder with digests was built by `build_folder`, and stays
        shutil.rmtree(path)
    return report._replace(seconds=clock.laps | report.seconds)


def _build(
    game: Game,
    folder: str | os.PathLike[str],
    clock: Clock,
    *,
    below: Sequence[str] | None = None,
    cluster: str | None = None,
    tls: tuple[str, str, str] | None = None,
    exchange: str | None = None,
    parts: int | None = None,
    memory: int | None = None,
    max_states: int | None = None,
    **options: Any,
) -> Folder:
    """Build a game in parts; return its folder. `clock` notes the seconds of each phase."""
    memory = arguments.limit("memory", memory)
    if memory is not None and memory < LEAST:
        raise StoreError(f"{sized(memory)} is too little memory: a process needs {sized(LEAST)}")
    check_reading(game, game.start_states())
    found: AbstractContextManager[Workers] = nullcontext(OwnProcess())
    if cluster is not None:
        from graphstore.building.parts.cluster import cluster as workers_of

        found = workers_of(cluster, arguments.tls(tls))
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
            exchange=None if exchange is None else arguments.path("exchange", exchange),
            parts=arguments.limit("parts", parts, least=1),
            max_states=arguments.limit("max_states", max_states),
            lap=clock.lap,
            **options,
        )


def _texts(below: Sequence[str] | None) -> tuple[str, ...]:
    return () if below is None else tuple(arguments.position_texts("below", below))
