"""The workers of a Dask cluster: processes of this machine, or those of a running scheduler.

A program that can connect to a scheduler or worker of Dask can run code there. So processes of this
machine accept only TLS connections with a certificate that is made for one build.

Calls and records are small; all other data goes through the folder, which every worker must see. A
step whose worker dies is taken again by another worker, and so is one that takes much longer than
the others: steps read and write whole files only.
"""

import asyncio
import logging
import platform
import re
import signal
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from importlib.metadata import version
from multiprocessing import resource_tracker
from queue import Empty, SimpleQueue
from typing import Any, Final

import numpy as np

from graphstore.building.parts.workers import LITTLE, OwnProcess, Workers
from graphstore.errors import (
    AddressError,
    GameNameError,
    RulesError,
    StoreError,
    shown,
)
from graphstore.games import find_game
from graphstore.rules.game import Game
from graphstore.util.extras import extra
from graphstore.util.signals import held_back

MOST_PROCESSES: Final = 512
ANSWER: Final = 10.0  # seconds: timeout for a scheduler and its workers
LOOK: Final = 2.0  # seconds without a result before the scheduler is asked for its workers
WITHOUT: Final = 60.0  # seconds without any worker before the build gives up
LATE: Final = 5.0  # seconds that a step has at least, before another worker takes it, too
TIMES: Final = 4  # how many times as long as the others of its batch it may take
END: Final = 1.0  # seconds for a local process to end, before it is killed
SILENT: Final = logging.CRITICAL + 1
LOCAL_CONFIG: Final = {
    "distributed.worker.multiprocessing-method": "spawn",
    "distributed.worker.daemon": True,
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.allowed-failures": 3,
    "distributed.nanny.pre-spawn-environ": {},  # Dask would set these in this process, too
    "distributed.nanny.environ": {},
    "distributed.scheduler.http.routes": [],  # the HTTP servers cannot be left out, but are empty
    "distributed.worker.http.routes": [],
}
RESUME: Final = "run the same command again to resume"

_LOCAL = re.compile(r"\s*local:(?P<size>[0-9]{1,6})\s*", re.IGNORECASE)
_TALK = re.compile(r"(distributed|tornado|asyncio|bokeh)(\..*)?")
_ADDRESS = re.compile(r"([a-z]+://)?(\[[0-9a-f:.%]+\]|[\w.-]+):[0-9]{1,5}", re.IGNORECASE)


def cluster(where: str, tls: tuple[str, str, str] | None = None) -> AbstractContextManager[Workers]:
    """Yield the workers of a cluster.

    `where` is ``local:N`` for N processes on this machine, which end with the block, or the address
    of a scheduler, such as ``tls://host:8786``. `tls` names PEM files: the certificate of the
    authority, that of this client, and its key; by default they are in Dask's configuration.

    Raises:
        AddressError: `where` is neither, the scheduler does not answer, or `tls` is of no use.
        StoreError: the processes do not start, or the workers have other versions of graphstore,
            Python or numpy.
        MissingExtraError: Dask is not installed.
    """
    local = _LOCAL.fullmatch(where)
    if local and tls is not None:
        raise AddressError(
            f"{where} makes its own certificates; leave out --tls-ca, --tls-cert and --tls-key "
            "(tls=)"
        )
    if local and 1 <= int(local["size"]) <= MOST_PROCESSES:
        return _local(int(local["size"]))
    if not local and _ADDRESS.fullmatch(where.strip()):
        return _running(where.strip(), tls)
    raise AddressError(
        f"{shown(where)} is not a cluster; write local:2 for two processes on this machine (at "
        f"most {MOST_PROCESSES}), or the address of a Dask scheduler, such as tcp://host:8786"
    )


def name_for_others(game: Game) -> str:
    """Return the name under which other processes find a game; raise a RulesError without one."""
    origin = getattr(game, "origin", "")
    if origin:
        return str(origin)
    with suppress(GameNameError):
        found = find_game(game.name)
        if type(found) is type(game) and found.rules == game.rules:
            return game.name
    raise RulesError(
        f"the workers of a cluster cannot find the rules of {game.name} by name; put them into a "
        "file and name them FILE.py:NAME"
    )


class _Pace:
    """The time that the steps of a batch take, with `at_once` of them at the same time."""

    def __init__(self, at_once: int) -> None:
        self._at_once, self._done = at_once, 0
        self._begun = self._last = time.monotonic()

    def count(self, done: int) -> None:
        """Count steps that are done now."""
        if done:
            self._done += done
            self._last = time.monotonic()

    def is_late(self) -> bool:
        """Return whether each step that runs has taken much longer than the mean of those done."""
        if not self._done:
            return False
        mean = (self._last - self._begun) * self._at_once / self._done
        return time.monotonic() - self._last > max(LATE, TIMES * mean)


class ClusterWorkers:
    """`Workers` of a Dask cluster."""

    def __init__(self, client: Any, where: str, size: int) -> None:
        self.size = size
        self._client = client
        self._where = where
        self._alone_since: float | None = None
        self._abandoned: set[Any] = set()

    rules = staticmethod(name_for_others)

    def enough(self, states: int) -> Workers:
        """See `Workers.enough`."""
        return self if states > LITTLE else OwnProcess()

    def run(
        self, calls: Sequence[tuple[Any, ...]], homes: Sequence[int] = ()
    ) -> Iterator[tuple[int, Any]]:
        """See `Workers.run`; an exception of a step is raised here.

        The workers must be able to import the step. A StoreError is raised, too, if one step has
        killed several workers.
        """
        done: SimpleQueue[Any] = SimpleQueue()
        number_of: dict[Any, int] = {}
        again: set[int] = set()

        def submit(number: int, worker: str | None) -> None:
            at = {"workers": [worker], "allow_other_workers": True} if worker else {}
            with self._lost_as_error():
                future = self._client.submit(*calls[number], pure=False, **at)
            number_of[future] = number
            future.add_done_callback(done.put)

        try:
            with self._lost_as_error():
                workers = sorted(self._client.nthreads()) if homes else []
            for number in range(len(calls)):
                submit(number, workers[homes[number] % len(workers)] if workers else None)
            pace = _Pace(min(len(calls), self.size))
            while number_of:
                futures = {number_of[each]: each for each in self._next(done) if each in number_of}
                records = self._results([*futures.values()])
                pace.count(len(records))
                if pace.is_late():
                    others = sorted({*number_of.values()} - again)
                    for number, worker in zip(others, self._idle(), strict=False):
                        submit(number, worker)
                        again.add(number)
                for (number, future), record in zip(futures.items(), records, strict=True):
                    del number_of[future]
                    if number in again:
                        self._abandon(number_of, number)
                    yield number, record
        finally:
            for future in number_of:  # Dask then cancels the steps that are not done
                future.release()

    def _next(self, done: "SimpleQueue[Any]") -> list[Any]:
        """Return the next futures that are done; none if that takes longer than `LOOK`."""
        try:
            first = done.get(timeout=LOOK)
        except Empty:
            self._look()
            return []
        self._alone_since = None
        return [first, *(done.get() for _ in range(done.qsize()))]

    def _look(self) -> None:
        """Raise a StoreError if there have been no workers for too long."""
        with self._lost_as_error():
            workers = self._client.nthreads()
        now = time.monotonic()
        self._alone_since = None if workers else self._alone_since or now
        if self._alone_since and now - self._alone_since > WITHOUT:
            raise StoreError(
                f"{self._where} has had no workers for {WITHOUT:.0f} seconds; start some, "
                f"then {RESUME}"
            )

    def _idle(self) -> list[str]:
        """Return the workers that have no step."""
        with self._lost_as_error():
            return sorted(at for at, steps in self._client.processing().items() if not steps)

    def _abandon(self, number_of: dict[Any, int], number: int) -> None:
        """Drop the other future of a step that is done.

        It is kept until its worker ends the step, so that Dask knows that the worker is not idle.
        """
        for other in [future for future, of in number_of.items() if of == number]:
            del number_of[other]
            self._abandoned.add(other)
            other.add_done_callback(self._abandoned.discard)

    def release(self) -> None:
        """Drop the steps that slow workers still take."""
        while self._abandoned:
            with suppress(KeyError):  # it is done
                self._abandoned.pop().release()

    def _results(self, futures: list[Any]) -> list[Any]:
        """Return the results of steps, or raise the exception of one of them."""
        from distributed import KilledWorker

        with self._lost_as_error(futures):
            try:
                results: list[Any] = self._client.gather(futures)  # one call: calls are slow
            except KilledWorker as error:
                raise StoreError(
                    f"{error.allowed_failures + 1} workers of {self._where} have died in the same "
                    "step, maybe for lack of memory; lower --memory (memory=), then "
                    f"{RESUME}"
                ) from None
            return results

    @contextmanager
    def _lost_as_error(self, futures: Sequence[Any] = ()) -> Iterator[None]:
        """Raise a StoreError if the scheduler is lost; the exceptions of steps pass unchanged."""
        try:
            if self._client.status != "running":
                raise ConnectionError(self._client.status)
            yield
        except (OSError, CancelledError) as error:
            if any(future.status == "error" for future in futures):
                raise
            raise StoreError(
                f"the scheduler at {self._where} is lost; start it and its workers, then {RESUME}"
            ) from error


@contextmanager
def _local(size: int) -> Iterator[Workers]:
    """Yield workers that are processes of this machine, with one thread each."""
    dask, distributed = _dask()
    with extra("local:N needs TLS: pip install cryptography"):
        import cryptography.x509  # noqa: F401  # for the next line
    security = distributed.Security.temporary()
    with dask.config.set(LOCAL_CONFIG), _quiet(), _without_script(), ExitStack() as stack:
        with held_back():  # Dask cannot end processes that it is starting
            try:
                processes = distributed.LocalCluster(
                    n_workers=size,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    security=security,
                    dashboard_address="127.0.0.1:0",  # any free port; None would be 8787
                    scheduler_kwargs={"dashboard": False},
                    memory_limit=0,  # steps limit themselves; mapped files would count
                    worker_class=_nanny(),
                    silence_logs=SILENT,
                )
            except (OSError, RuntimeError) as error:
                why = _line(error)
                raise StoreError(f"cannot start processes on this machine: {why}") from error
            stack.enter_context(processes)
            client = stack.enter_context(distributed.Client(processes, set_as_default=False))
            workers = ClusterWorkers(client, f"local:{size}", size)
            stack.callback(workers.release)
        yield workers


@contextmanager
def _running(address: str, tls: tuple[str, str, str] | None) -> Iterator[Workers]:
    """Yield the workers of a scheduler that is running."""
    _, distributed = _dask()
    security = _security(distributed, tls)
    if tls is not None and "://" not in address:
        address = f"tls://{address}"

    async def reach() -> None:
        options = security.get_connection_args("client")
        comm = await distributed.comm.connect(address, timeout=ANSWER, **options)
        await comm.close()

    with _quiet():
        try:
            with ThreadPoolExecutor(1) as thread:  # a client that cannot connect leaves threads
                thread.submit(asyncio.run, asyncio.wait_for(reach(), ANSWER)).result()
            with warnings.catch_warnings():
                # `_check` compares the versions.
                warnings.simplefilter("ignore", distributed.versions.VersionMismatchWarning)
                client = distributed.Client(
                    address, timeout=ANSWER, security=security, set_as_default=False
                )
        except (OSError, ValueError, TypeError, ImportError, RuntimeError) as error:
            raise AddressError(
                f"no Dask scheduler answers at {address}; start one with: dask scheduler, or check "
                f"its address and TLS ({_line(error)})"
            ) from error
        try:
            workers = ClusterWorkers(client, address, _check(client, address))
            try:
                yield workers
            finally:
                workers.release()
        finally:
            with suppress(Exception):  # the scheduler may be lost
                client.close(timeout=ANSWER)


def _security(distributed: Any, tls: tuple[str, str, str] | None) -> Any:
    """Return the TLS files as Dask takes them; raise an AddressError if they cannot be read."""
    files: dict[str, Any] = {}
    if tls is not None:
        names = ("tls_ca_file", "tls_client_cert", "tls_client_key")
        files = dict(zip(names, tls, strict=True)) | {"require_encryption": True}
    try:
        security = distributed.Security(**files)  # the rest is from Dask's configuration
        role = security.get_tls_config_for_role("client")
        security.get_connection_args("client")  # reads the files
    except (OSError, ValueError) as error:
        named = ", ".join(str(role[part]) for part in ("ca_file", "cert", "key"))
        raise AddressError(
            f"cannot use the TLS files {named} ({_line(error)}); check --tls-ca, --tls-cert and "
            "--tls-key (tls=), or Dask's configuration"
        ) from error
    return security


def versions() -> tuple[str, ...]:
    """Return the versions that must be the same in all processes of a build.

    A step that is taken twice must write the same bytes, so pyarrow is there in full.
    """
    python = ".".join(platform.python_version_tuple()[:2])
    return (
        f"graphstore {version('graphstore')}",
        f"Python {python}",
        f"numpy {np.__version__.partition('.')[0]}",
        f"pyarrow {version('pyarrow')}",
    )


def _check(client: Any, address: str) -> int:
    """Return the number of threads of all workers; raise if a worker cannot take steps."""
    try:
        client.wait_for_workers(1, timeout=ANSWER)
    except OSError as error:
        raise StoreError(
            f"the scheduler at {address} has no workers; start some with: dask worker {address}"
        ) from error
    try:
        found = client.run(versions, on_error="return")
        threads: int = sum(client.nthreads().values())
    except OSError as error:
        raise StoreError(f"the workers of {address} do not answer: {_line(error)}") from error
    for worker, there in found.items():
        if isinstance(there, BaseException):
            raise StoreError(
                f"worker {worker} of {address} cannot take steps: {_line(there)}; install "
                "graphstore[dask] on its machine, and start it again"
            )
        differ = [f"{a}, here {b}" for a, b in zip(there, versions(), strict=True) if a != b]
        if differ:
            raise StoreError(
                f"worker {worker} of {address} has {differ[0]}; install the same on all machines"
            )
    return threads


def _dask() -> tuple[Any, Any]:
    """Return the modules dask and distributed; raise a MissingExtraError if not installed."""
    with extra("clusters need Dask: pip install distributed pyarrow"):
        import dask
        import distributed
    return dask, distributed


def _line(error: BaseException) -> str:
    """Return an error of Dask as one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the logs of Dask; errors are raised."""
    names = [name for name in logging.root.manager.loggerDict if _TALK.fullmatch(name)]
    levels = {logger: logger.level for logger in map(logging.getLogger, names)}
    try:
        for logger in levels:
            logger.setLevel(SILENT)
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


def _nanny() -> type:
    """Return the class that starts a worker, restarts it if it dies, and ends it."""
    from distributed import Nanny

    class Starter(Nanny):
        async def instantiate(self) -> Any:
            """Start a process with SIGINT blocked, since this process ends it."""
            if hasattr(signal, "pthread_sigmask"):
                # Children of this thread inherit the blocked signal. Start the resource tracker
                # first, because Python unblocks the signal when it starts it.
                resource_tracker.ensure_running()
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            return await super().instantiate()

        async def kill(self, timeout: float = END, reason: str = "nanny-kill") -> None:
            """End the process, even in the middle of a step."""
            await super().kill(timeout=min(timeout, END), reason=reason)

    return Starter


@contextmanager
def _without_script() -> Iterator[None]:
    """Keep processes that are started in this block from importing the main script.

    A script that builds a game at its top level would otherwise build it in each of them.
    """
    main: dict[str, Any] = vars(sys.modules["__main__"])
    had: dict[str, Any] = {name: main[name] for name in ("__file__", "__spec__") if name in main}
    try:
        main.update(dict.fromkeys(had))
        yield
    finally:
        main.update(had)
