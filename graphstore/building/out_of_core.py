"""Build a game out of core, by this process or a cluster: into a folder, or into a database."""

import os
import shutil
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Final

from graphstore.building.from_folder import load
from graphstore.building.parts import build
from graphstore.building.parts.crew import Alone, Crew
from graphstore.building.saving import Clock, Report
from graphstore.errors import StoreError, StoreExistsError
from graphstore.games import are_those_of, find_game
from graphstore.rules.game import Game, Progress, quiet
from graphstore.solver.estimate import sized
from graphstore.store.backend import REPLACE
from graphstore.store.folder.folder import Folder
from graphstore.store.store import find_place

OVERHEAD: Final = 280_000_000  # bytes of a process before it has any state: measured
LEAST: Final = 400_000_000


def build_folder(
    game: Game | str,
    folder: str | os.PathLike[str],
    *,
    below: tuple[str, ...] | list[str] = (),
    force: bool = False,
    cluster: str | None = None,
    parts: int | None = None,
    memory: int | None = None,
    max_states: int | None = None,
    progress: Progress = quiet,
) -> Report:
    """Explore and solve a game in parts, and leave it in a folder of Parquet files.

    Whatever stops it, the same call goes on after the last blocks that were done.

    Args:
        game: the rules, or a name for `graphstore.find_game`; for a cluster, rules that have one.
        folder: where; what is there before it is complete lies beside it.
        below: positions to begin from, as text; by default the starts of the game.
        force: replace the folder if there is one.
        cluster: ``local:N`` for N processes here, or the address of a Dask scheduler whose workers
            see the folder by the same name; by default this process does all.
        parts: how many parts each wave has; by default as few as memory allows, and as all
            processes have work.
        memory: bytes that each process may take, at least 400 million; by default half of what
            this machine has, shared by the processes that are on it.
        max_states: how many states to allow, by default 100 million.
        progress: called with the phase and how far it is.

    Raises:
        StoreExistsError: the folder is there and `force` is not given.
        StoreError: it cannot be written, or the cluster is gone.
        RulesError, TooLargeError: see `graphstore.explore`.
        PositionError: a text of `below` is no position.
        MissingExtraError: pyarrow, or for a cluster distributed, is not installed.
    """
    clock = Clock()
    with _crew(cluster, memory) as crew:
        made = build.build(
            find_game(game) if isinstance(game, str) else game,
            folder,
            crew=crew,
            below=below,
            force=force,
            parts=parts,
            memory=_for_steps(memory, crew),
            max_states=max_states,
            lap=clock.lap,
            progress=progress,
        )
    return _report(folder, made, clock)


def build_out_of_core(
    game: Game | str,
    target: str | os.PathLike[str],
    *,
    below: tuple[str, ...] | list[str] = (),
    force: bool = False,
    drop_agents: bool = False,
    cluster: str | None = None,
    parts: int | None = None,
    memory: int | None = None,
    max_states: int | None = None,
    progress: Progress = quiet,
) -> Report:
    """Build a game into a database by way of a folder beside it, which is removed at the end.

    Whatever stops it, the same call goes on after the last blocks that were done.

    Args:
        game: see `build_folder`.
        target: the file to write, or its address: see `graphstore.Store.open`.
        below: see `build_folder`.
        force: replace the database if there is one; its agents are kept.
        drop_agents: with `force`, do not keep them.
        cluster: see `build_folder`.
        parts: see `build_folder`.
        memory: see `build_folder`.
        max_states: see `build_folder`.
        progress: see `build_folder`.

    Raises:
        StoreExistsError: the database is there and `force` is not given.
        StoreError, RulesError, TooLargeError, PositionError, MissingExtraError: see `build_folder`
            and `graphstore.load`.
    """
    rules = find_game(game) if isinstance(game, str) else game
    place = find_place(target).for_game(rules.name)
    if place.exists() and not force:
        raise StoreExistsError(f"{place.address} exists; {REPLACE}")
    folder = _beside(place, rules)
    clock = Clock()
    if not folder.exists() or (force and not _is_same(folder, rules, tuple(below))):
        with _crew(cluster, memory) as crew:
            build.build(
                rules,
                folder,
                crew=crew,
                below=below,
                force=force,
                parts=parts,
                memory=_for_steps(memory, crew),
                max_states=max_states,
                with_digests=False,  # loading makes them
                lap=clock.lap,
                progress=progress,
            )
    elif not _is_same(folder, rules, tuple(below)):
        raise StoreError(
            f"{folder} is there from another build; load it, or add --force (force=True) to "
            "replace it"
        )
    report = load(folder, target, force=force, drop_agents=drop_agents, progress=progress)
    if not Folder.open(folder).digests:  # else somebody has built it to stay
        shutil.rmtree(folder)
    return report._replace(seconds=clock.laps | report.seconds)


def _beside(place: Any, game: Game) -> Path:
    """Return the folder from which a database will be loaded: beside a file; else in this one."""
    try:
        path: Path = place.path
    except StoreError:
        name = "".join(each if each.isalnum() else "-" for each in game.name).strip("-")
        return Path(f"{name}.parts")
    return path.with_name(f"{path.name}.parts")


def _is_same(folder: Path, game: Game, below: tuple[str, ...]) -> bool:
    """Return whether a folder, which an earlier build has left, is of this game."""
    contents = Folder.open(folder).contents
    name, rules = contents.info["name"], contents.info["rules"]
    same = name == game.name and are_those_of(game, name, rules)
    return same and contents.below == below


def _crew(where: str | None, memory: int | None) -> AbstractContextManager[Crew]:
    if memory is not None and memory < LEAST:
        raise StoreError(f"{sized(memory)} is too little memory: a process needs {sized(LEAST)}")
    if where is None:
        return nullcontext(Alone())
    from graphstore.building.parts.cluster import cluster

    return cluster(where)


def _for_steps(memory: int | None, crew: Crew) -> int:
    """Return how many bytes a step may take."""
    if memory is None:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2 // crew.size
    return max(memory, LEAST) - OVERHEAD


def _report(folder: str | os.PathLike[str], made: Folder, clock: Clock) -> Report:
    row = made.info
    return Report(
        file=os.fspath(folder),
        game=row["name"],
        **{name: row[name] for name in Report._fields if name in row},
        agents=(),
        seconds=clock.laps,
    )
