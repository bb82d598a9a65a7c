"""Games in parts, built by Dask processes that are killed, cut off or run out of disk space."""

import gc
import json
import os
import pickle
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path

import pytest
from conftest import (
    DATA,
    SLOW,
    TESTS,
    TableGame,
    check_all,
    error_line,
    for_all,
    graphstore,
    small_disk,
)
from distributed import Security

from graphstore import Store, build_folder, errors, find_game
from graphstore import build as build_file
from graphstore.building.parts import cluster as clusters
from graphstore.building.parts.build import build
from graphstore.building.parts.cluster import cluster, name_for_others
from graphstore.errors import (
    AddressError,
    ArgumentError,
    GameNameError,
    RulesError,
    StoreError,
)
from graphstore.rules.adapter import accept
from graphstore.store.folder.folder import Folder
from graphstore.store.folder.layout import draft_of

DIGESTS = json.loads((DATA / "digests.json").read_text())
DRIVER = TESTS / "partsdriver.py"
PATIENCE = 60
pytestmark = pytest.mark.filterwarnings(  # see sockets_of_refused_connections
    r"ignore:Exception ignored in. <(socket|ssl)\.:pytest.PytestUnraisableExceptionWarning"
)

RULES = (TESTS / "bits.py").read_text()
IN_PLAY = 63  # of its positions


@pytest.fixture(autouse=True)
def all_steps_are_for_workers(monkeypatch):
    """Let the workers take the steps of small waves, too."""
    monkeypatch.setattr(clusters, "LITTLE", -1)


@pytest.fixture(autouse=True)
def sockets_of_refused_connections():
    """Collect the sockets that Dask leaves open, before the next test could be blamed."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def workers():
    """Two processes on this machine."""
    with cluster("local:2") as workers:
        yield workers


@pytest.fixture
def bits(tmp_path):
    """The folder of a game whose rules log their calls, and wait or die as files in it say."""
    (tmp_path / "bits.py").write_text(RULES)
    (tmp_path / "log").touch()
    return tmp_path


def in_parts(game, folder, workers, parts=None):
    """Build a game; return its digest."""
    done = build(game, folder, workers=workers, parts=parts)
    assert not draft_of(folder).exists()
    return done.info["digest"]


def in_memory(game, path):
    """Build a game into a database; return its digest."""
    build_file(game, path)
    with Store.open(path) as store:
        return store.info["digest"]


def asked(bits):
    """Return the positions whose moves were requested, and the ids of the processes."""
    words = [line.split() for line in (bits / "log").read_text().splitlines()]
    return [int(position) for position, _ in words], {int(pid) for _, pid in words}


def wait_for(condition):
    """Wait until a condition is true; fail after `PATIENCE` seconds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


def alive(pid):
    """Return whether a process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def line_of(error):
    """Return the message of an error, which must be one line."""
    (line,) = str(error.value).splitlines()
    return line


# The game that is built


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("nim(3,4,5)", 2),
        pytest.param("connect(4,4)", 2, marks=SLOW),
        pytest.param("vanishing", 2, marks=SLOW),
        pytest.param("morris(king,pass,straight)", 2, marks=SLOW),
        pytest.param("mnk(4,4,4)", None, marks=SLOW),
    ],
)
def test_two_processes_build_what_one_builds_in_memory(workers, tmp_path, name, parts):
    digest = DIGESTS.get(name) or in_memory(name, tmp_path / "t.db")
    assert in_parts(find_game(name), tmp_path / "parts", workers, parts=parts) == digest


def test_workers_find_rules_in_the_file_they_came_from(workers, bits, monkeypatch):
    monkeypatch.chdir(bits)
    digest = in_parts(find_game("bits.py:Bits"), bits / "parts", workers, parts=4)
    positions, pids = asked(bits)
    assert sorted(positions) == [*range(1, IN_PLAY + 1)]
    assert os.getpid() not in pids
    assert digest == in_memory("bits.py:Bits", bits / "t.db")


def test_workers_see_that_a_file_of_rules_has_changed(workers, bits):
    game = f"{bits}/bits.py:Bits"
    first = in_parts(find_game(game), bits / "first", workers)
    (bits / "bits.py").write_text(RULES.replace("64", "32"))
    second = in_parts(find_game(game), bits / "second", workers)
    assert second == in_memory(game, bits / "t.db") != first


@pytest.mark.parametrize("name", ["tictactoe", "nim(3,4,5)", "vanishing"])
def test_a_built_in_game_is_found_by_its_name(name):
    assert name_for_others(find_game(name)) == name


def test_a_game_that_has_no_name_for_others_is_refused_in_one_line(workers, tmp_path):
    with pytest.raises(RulesError, match="put them into a file") as raised:
        in_parts(accept(TableGame({0: 1}, 0)), tmp_path / "parts", workers)
    line_of(raised)


# Steps that fail


def leaves(kind):
    """Return a class of errors and its subclasses that steps can raise."""
    below = [other for other in kind.__subclasses__() if other.__module__ == errors.__name__]
    return [kind, *(leaf for other in below for leaf in leaves(other))]


@for_all("kind", leaves(errors.GraphstoreError))
def test_every_error_comes_back_from_a_worker_as_it_was(kind):
    back = pickle.loads(pickle.dumps(kind("one line")))  # noqa: S301  # our own
    assert (type(back), str(back)) == (kind, "one line")


def test_an_error_of_a_step_is_raised_as_it_is(workers):
    with pytest.raises(GameNameError, match="there is no game 'nothing'"):
        list(workers.run([(find_game, "nothing"), (find_game, "tictactoe")]))
    with pytest.raises(FileNotFoundError, match="/nowhere"):
        list(workers.run([(os.listdir, "/nowhere")]))


def test_a_worker_killed_in_the_middle_of_a_wave_loses_only_its_own_step(workers, bits):
    (bits / "deadly").touch()
    game = f"{bits}/bits.py:Bits"
    digest = in_parts(find_game(game), bits / "parts", workers, parts=4)
    positions, _ = asked(bits)
    assert not (bits / "deadly").exists()
    assert positions.count(20) == 2
    again = {position for position, times in Counter(positions).items() if times > 1}
    assert all(16 <= position < 32 for position in again)
    assert sorted({*positions}) == [*range(1, IN_PLAY + 1)]
    assert digest == in_memory(game, bits / "t.db")


@SLOW
def test_a_step_that_ends_every_worker_is_one_line(workers):
    with pytest.raises(StoreError, match=r"4 workers of local:2 have died.*--memory") as raised:
        list(workers.run([(os._exit, 1)]))
    line_of(raised)
    assert list(workers.run([(divmod, 7, 2)])) == [(0, (3, 1))]


def test_on_a_full_disk_a_build_stops_in_one_line_and_goes_on_with_more_room(workers, tmp_path):
    with small_disk(tmp_path, "600k") as disk:
        game = find_game("mnk(3,3,3)")
        with pytest.raises(StoreError, match="No space left on device") as raised:
            in_parts(game, disk / "parts", workers, parts=2)
        assert line_of(raised).startswith(str(disk))
        assert [path.name for path in disk.iterdir()] == [".parts.building"]
        subprocess.run(["mount", "-o", "remount,size=10m", disk], check=True)
        begun = {path: path.stat().st_mtime_ns for path in disk.glob(".parts.building/state/*/*")}
        assert in_parts(game, disk / "parts", workers, parts=2) == DIGESTS["tictactoe"]
        for path, was in begun.items():
            now = disk / "parts" / path.relative_to(disk / ".parts.building")
            assert now.stat().st_mtime_ns == was


# When the building process or the scheduler dies


@contextmanager
def started(bits, **how):
    """Yield a process that builds the game; kill it at the end."""
    words = [sys.executable, DRIVER, "local:2", bits / "bits.py", bits / "parts", "4"]
    building = subprocess.Popen(
        [*map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how
    )
    try:
        yield building
    finally:
        building.kill()
        building.communicate()


@SLOW
def test_killed_at_any_moment_a_build_goes_on_where_it_was_and_leaves_no_process(bits):
    chance = random.Random(1)
    draft = draft_of(bits / "parts")
    before = 0
    for moment in sorted(chance.sample(range(1, 50), 2)):
        with started(bits) as building:
            wait_for(lambda most=moment: len(list(draft.rglob("work/*/*/*.json"))) >= most)
        assert building.returncode == -signal.SIGKILL
        positions, pids = asked(bits)
        wait_for(lambda all_of=pids: not any(map(alive, all_of)))
        assert len(positions) <= IN_PLAY - before
        records = draft.rglob("work/explore_block/*/*.json")
        explored = [json.loads(path.read_bytes()[8:]) for path in records]  # after a checksum
        before = sum(record["moves"] for record in explored) // 2
        (bits / "log").write_text("")
    with started(bits) as building:
        assert building.communicate(timeout=PATIENCE) == ("", "")
    assert building.returncode == 0
    assert len(asked(bits)[0]) == IN_PLAY - before
    game = find_game(f"{bits}/bits.py")
    info = json.loads((bits / "parts" / "game.json").read_text())["game"]
    assert info["digest"] == in_memory(game, bits / "t.db")


@SLOW
def test_ctrl_c_ends_a_build_and_its_processes_in_one_line(bits):
    (bits / "closed").touch()
    with started(bits, start_new_session=True) as building:
        wait_for(lambda: {20, 31} & {*asked(bits)[0]})
        os.killpg(building.pid, signal.SIGINT)  # as a terminal does: the workers get it, too
        assert building.communicate(timeout=PATIENCE) == ("", "graphstore: interrupted\n")
    assert building.returncode == 130
    assert not any(map(alive, asked(bits)[1]))


def free_port():
    """Return a free port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@contextmanager
def dask(command, *words):
    """Yield a process of Dask's command line; kill it at the end."""
    module = f"distributed.cli.dask_{command}"
    process = subprocess.Popen(
        [sys.executable, "-m", module, *map(str, words), "--no-dashboard"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE)


def worker(address, tmp_path, *words):
    """Yield a worker with one thread."""
    words = ("--nthreads=1", "--no-nanny", f"--local-directory={tmp_path}", *words)
    return dask("worker", address, *words)


@contextmanager
def scheduler(port, host="127.0.0.1", *words):
    """Yield a scheduler that listens."""
    with dask("scheduler", "--host", host, "--port", port, *words) as process:

        def listens():
            with suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port)).close()
                return True

        wait_for(listens)
        yield process


@SLOW
def test_a_scheduler_without_workers_is_one_line_at_the_start_and_later(tmp_path, monkeypatch):
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    with scheduler(port):
        monkeypatch.setattr(clusters, "ANSWER", 3.0)
        with pytest.raises(StoreError, match=f"start some with: dask worker {address}") as raised:
            cluster(address).__enter__()
        line_of(raised)
        monkeypatch.setattr(clusters, "ANSWER", 60.0)
        monkeypatch.setattr(clusters, "LOOK", 0.1)
        monkeypatch.setattr(clusters, "WITHOUT", 0.2)
        with worker(address, tmp_path) as only, cluster(address) as workers:
            assert workers.size == 1
            only.kill()
            with pytest.raises(StoreError, match=f"{address} has had no workers for") as raised:
                list(workers.run([(divmod, 7, 2)]))
        line_of(raised)


@SLOW
def test_a_scheduler_killed_in_the_middle_of_a_wave_is_one_line_and_a_new_one_goes_on(
    bits, tmp_path
):
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    game = find_game(f"{bits}/bits.py")

    def build_there():
        with cluster(address) as workers:
            return in_parts(game, bits / "parts", workers, parts=4)

    def kill_in_the_middle(process):
        with suppress(AssertionError):
            wait_for(lambda: {20, 31} & {*asked(bits)[0]})
        process.kill()

    (bits / "closed").touch()
    with scheduler(port) as first, worker(address, tmp_path), worker(address, tmp_path):
        killer = threading.Thread(target=kill_in_the_middle, args=(first,))
        killer.start()
        with pytest.raises(StoreError, match=f"scheduler at {address} is lost") as raised:
            build_there()
        killer.join()
    assert "run the same command again to resume" in line_of(raised)
    assert {*range(1, 16)} <= {*asked(bits)[0]}
    (bits / "log").write_text("")
    (bits / "closed").unlink()
    with scheduler(port), worker(address, tmp_path):
        digest = build_there()
    assert min(asked(bits)[0]) >= 16
    assert digest == in_memory(game, bits / "t.db")


# Who can connect


INTRUDER = """
import asyncio, os, sys, urllib.error, urllib.request
from distributed import Security
from distributed.comm import connect
own = Security.temporary().get_connection_args("client")
async def attempt(scheme, port, **how):
    comm = await asyncio.wait_for(connect(f"{scheme}://127.0.0.1:{port}", timeout=2, **how), 2)
    print("connected to", port)
def attempts(port):
    for scheme, how in (("tcp", {}), ("tls", own)):
        try:
            asyncio.run(attempt(scheme, port, **how))
        except (OSError, TimeoutError, ValueError):
            pass
    for page in ("", "health", "info/main/workers.html", "json/identity.json", "metrics"):
        try:
            print(urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=2).read())
        except (OSError, ValueError):
            pass
attempts(1)  # imports what another user may not be able to read
if os.geteuid() == 0:
    os.setuid(65534)
for port in map(int, sys.argv[1:]):
    attempts(port)
"""


def listening(pids):
    """Return the addresses and ports on which processes listen for TCP connections."""
    sockets, found = set(), []
    for pid in pids:
        for each in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # it was closed meanwhile
                sockets.add(os.readlink(each))
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == "0A" and f"socket:[{inode}]" in sockets:
                address, _, port = local.partition(":")
                found.append((address, int(port, 16)))
    return found


def test_another_user_of_the_machine_cannot_connect_to_the_processes(workers, bits):
    pids = {os.getpid(), *workers._client.run(os.getpid).values()}
    ports = listening(pids)
    assert len(ports) >= 5  # of a scheduler, two nannies and two workers
    assert {address for address, _ in ports} == {"0100007F"}  # 127.0.0.1
    command = [sys.executable, "-c", INTRUDER, *(str(port) for _, port in ports)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
    game = f"{bits}/bits.py:Bits"
    assert in_parts(find_game(game), bits / "parts", workers) == in_memory(game, bits / "t.db")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Two certificates and their keys, each its own authority: [(authority, certificate, key)]."""
    folder, found = tmp_path_factory.mktemp("tls"), []
    for name in ("ours", "other"):
        made = Security.temporary()
        certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
        certificate.write_text(made.tls_client_cert)
        key.write_text(made.tls_client_key)
        found.append((str(certificate), str(certificate), str(key)))
    return found


@pytest.fixture(scope="module")
def tls_port(certificates, tmp_path_factory):
    """The port of a scheduler with one worker that accepts only the first certificate."""
    words = [
        *chain(*zip(("--tls-ca-file", "--tls-cert", "--tls-key"), certificates[0], strict=True))
    ]
    port = free_port()
    folder = tmp_path_factory.mktemp("worker")
    with (
        scheduler(port, "tls://127.0.0.1", *words),
        worker(f"tls://127.0.0.1:{port}", folder, *words),
    ):
        yield port


@SLOW
def test_a_scheduler_with_tls_builds_for_those_who_have_its_certificate(
    certificates, tls_port, bits, monkeypatch
):
    address, game = f"tls://127.0.0.1:{tls_port}", f"{bits}/bits.py:Bits"
    tls = dict(zip(("--tls-ca", "--tls-cert", "--tls-key"), certificates[0], strict=True))
    command = ("build", game, "--cluster", address, *chain(*tls.items()))
    done = graphstore(*command, "--folder", bits / "one", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    build_folder(game, bits / "two", cluster=f"127.0.0.1:{tls_port}", tls=certificates[0])
    config = {
        f"DASK_DISTRIBUTED__COMM__TLS__{name}": file
        for name, file in zip(
            ("CA_FILE", "CLIENT__CERT", "CLIENT__KEY"), certificates[0], strict=True
        )
    }
    done = graphstore("build", game, "--cluster", address, "--folder", bits / "three", **config)
    assert (done.returncode, done.stderr) == (0, "")
    for name in ("one", "two", "three"):
        assert Folder.open(bits / name).info["digest"] == in_memory(game, bits / f"{name}.db")


@SLOW
def test_a_scheduler_that_refuses_a_certificate_is_one_line(certificates, tls_port, monkeypatch):
    monkeypatch.setattr(clusters, "ANSWER", 5.0)
    ours, other = certificates
    tls, tcp = f"tls://127.0.0.1:{tls_port}", f"tcp://127.0.0.1:{tls_port}"
    plain = free_port()

    def refuse(where, files, message):
        with pytest.raises(AddressError, match=message) as raised, cluster(where, files):
            pass
        line_of(raised)

    with scheduler(plain):
        check_all(
            [
                (tls, other, "check its address and TLS .*certificate"),
                (tls, (ours[0], *other[1:]), "check its address and TLS"),
                (tls, None, "check its address and TLS .*ssl_context"),
                (tcp, None, "check its address and TLS"),
                (tcp, ours, "check its address and TLS .*encryption required"),
                (f"tls://127.0.0.1:{plain}", ours, "check its address and TLS"),
                (tls, ("nothing", *ours[1:]), "cannot use the TLS files nothing, .*--tls-ca"),
                (tls, (ours[0], other[1], ours[2]), "cannot use the TLS files .*mismatch"),
                (tls, (ours[2], *ours[1:]), "cannot use the TLS files"),
                ("local:2", ours, "makes its own certificates"),
            ],
            refuse,
        )


def test_files_for_tls_are_given_together(run, tmp_path):
    for words in (["--tls-ca", "a"], ["--cluster", "tls://h:1", "--tls-ca", "a", "--tls-key", "b"]):
        line = run("build", "nim(1)", "--folder", tmp_path / "parts", *words).stderr
        assert "--tls-ca, --tls-cert and --tls-key are given together, with --cluster" in line
    for wrong in (("a", "b"), "abc", 3, ("a", "b", 3)):
        with pytest.raises(ArgumentError, match="tls is"):
            build_folder("nim(1)", tmp_path / "parts", cluster="tls://h:1", tls=wrong)


# Addresses that are not a cluster


@pytest.mark.parametrize("where", ["local:0", "local:", "local:two", "local:99999", "", "8786"])
def test_an_address_that_is_not_a_cluster_is_refused_in_one_line(where):
    with pytest.raises(AddressError, match="write local:2 for two processes") as raised:
        cluster(where)
    line_of(raised)


@pytest.mark.parametrize("scheme", ["tcp://", "", "nonsense://"])
def test_a_scheduler_that_does_not_answer_is_one_line(scheme, monkeypatch):
    monkeypatch.setattr(clusters, "ANSWER", 0.5)
    expected = pytest.raises(AddressError, match="start one with: dask scheduler")
    with expected as raised, cluster(f"{scheme}127.0.0.1:{free_port()}"):
        pass
    line_of(raised)


@pytest.mark.parametrize("library", ["cryptography", "distributed"])
def test_without_dask_a_line_says_what_to_install(warm, library, tmp_path):
    # In a process of its own: here Dask may be importing modules in the background.
    words = ("build", "tictactoe", "--folder", "t", "--cluster", "local:1")
    done = warm.run(*words, cwd=tmp_path, before=f"import sys; sys.modules['{library}'] = None")
    assert f"pip install {library}" in error_line(done)
    assert not [*tmp_path.iterdir()]


@SLOW
def test_a_worker_with_another_version_is_refused_in_one_line(workers):
    import numpy

    def pretend(number):
        vars(numpy)["__version__"] = number

    workers._client.run(pretend, "1.26.4")
    try:
        with pytest.raises(
            StoreError, match="has numpy 1, here numpy 2; install the same"
        ) as raised:
            clusters._check(workers._client, "local:2")
    finally:
        workers._client.run(pretend, numpy.__version__)
    line_of(raised)


def test_this_process_takes_the_steps_of_small_waves(workers, bits, monkeypatch):
    monkeypatch.setattr(clusters, "LITTLE", 20_000)
    in_parts(find_game(f"{bits}/bits.py:Bits"), bits / "parts", workers)
    assert asked(bits)[1] == {os.getpid()}
