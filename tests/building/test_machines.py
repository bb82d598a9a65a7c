"""Games in parts, built by workers of several machines, each with its own copy of the code.

The machines are network namespaces where this user may make them, and else processes that talk over
127.0.0.1. Some workers are slow, stopped, cut off, lost, or have another version or another clock.
"""

import gc
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import chain
from textwrap import dedent

import pytest
from conftest import ROOT, SLOW, TESTS
from distributed import Security

from graphstore import Store, build, find_game
from graphstore.store.folder.folder import Folder
from graphstore.store.folder.layout import draft_of

PATIENCE = 120
PORT = 8786
pytestmark = SLOW

RULES = (TESTS / "bits.py").read_text()

DRIVER = """
import json, sys
from graphstore import build_folder
from graphstore.building.parts import build as building, cluster
from graphstore.errors import GraphstoreError
cluster.LITTLE, cluster.LOOK, cluster.LATE = -1, 0.1, 0.5
building.FEWEST = 1e-9
check = cluster._check
def check_all(client, address):
    client.wait_for_workers(2, timeout=60)
    return check(client, address)
cluster._check = check_all
try:
    build_folder(**json.loads(sys.argv[1]))
except GraphstoreError as error:
    sys.exit(f"graphstore: {error}")
"""


@cache
def namespaces_work():
    """Return whether this user may make network namespaces."""
    name = f"gs-probe-{os.getpid()}"
    try:
        made = subprocess.run(["ip", "netns", "add", name], capture_output=True)
    except OSError:
        return False
    if made.returncode == 0:
        ip("netns", "del", name)
    return made.returncode == 0


def needs_namespaces():
    """Skip a test where this user may not make network namespaces."""
    if not namespaces_work():
        pytest.skip("this user may not make network namespaces (ip netns add)")


def ip(*words):
    """Run a command of iproute2."""
    subprocess.run(["ip", *map(str, words)], check=True)


class Machine:
    """A machine with a copy of the package and of the rules in its own folder."""

    def __init__(self, home, address, space=None):
        self.home, self.address, self.space = home, address, space
        self.library = home / "library"
        shutil.copytree(ROOT / "graphstore", self.library / "graphstore")
        (self.library / "bits.py").write_text(RULES)
        (self.library / "log").touch()

    def start(self, *words, before=(), output=subprocess.PIPE, **variables):
        """Start a Python process on this machine."""
        inside = ("ip", "netns", "exec", self.space) if self.space else ()
        command = [*inside, *before, sys.executable, *map(str, words)]
        return subprocess.Popen(
            command,
            cwd=self.home,
            env=os.environ | {"PYTHONPATH": str(self.library)} | variables,
            stdout=output,
            stderr=output,
            text=True,
        )

    def asked(self):
        """Return the positions whose moves were requested here."""
        return [int(line.split()[0]) for line in (self.library / "log").read_text().splitlines()]

    def worker(self):
        """Return the id of the process that took steps here."""
        return int((self.library / "log").read_text().split()[1])

    def unplug(self):
        """Take the link to the other machines down."""
        ip("-n", self.space, "link", "set", "eth0", "down")


@contextmanager
def hub(name, machines):
    """Connect machines by a bridge in a namespace of its own; remove all at the end."""
    spaces = [name, *(machine.space for machine in machines)]
    try:
        for space in spaces:
            ip("netns", "add", space)
            ip("-n", space, "link", "set", "lo", "up")
        ip("-n", name, "link", "add", "bridge", "type", "bridge")
        ip("-n", name, "link", "set", "bridge", "up")
        for number, machine in enumerate(machines):
            peer = ("peer", "name", "eth0", "netns", machine.space)
            ip("-n", name, "link", "add", f"port{number}", "type", "veth", *peer)
            ip("-n", name, "link", "set", f"port{number}", "master", "bridge", "up")
            ip("-n", machine.space, "address", "add", f"{machine.address}/24", "dev", "eth0")
            ip("-n", machine.space, "link", "set", "eth0", "up")
        yield
    finally:
        for space in spaces:
            subprocess.run(["ip", "netns", "del", space], capture_output=True)


class Site:
    """Three machines: `first` has a scheduler and builds, the `others` have workers."""

    def __init__(self, folder, separate, running):
        name = f"gs{os.getpid()}"
        addresses = [f"10.77.0.{number}" if separate else "127.0.0.1" for number in (1, 2, 3)]
        self.first, *self.others = (
            Machine(folder / f"machine{number}", address, f"{name}-{number}" if separate else None)
            for number, address in enumerate(addresses, 1)
        )
        self.folder, self._running, self.keys = folder / "shared", running, {}
        self.folder.mkdir()
        if separate:
            running.enter_context(hub(name, [self.first, *self.others]))
        made = Security.temporary()
        (folder / "ca.pem").write_text(made.tls_client_cert)
        (folder / "ca.key").write_text(made.tls_client_key)
        self.tls = tuple(str(folder / each) for each in ("ca.pem", "ca.pem", "ca.key"))
        names = ("--tls-ca-file", "--tls-cert", "--tls-key")
        self._words = ("--no-dashboard", *chain(*zip(names, self.tls, strict=True)))
        port = PORT if separate else free_port()
        self.address = f"tls://{self.first.address}:{port}"
        host = ("--host", f"tls://{self.first.address}", "--port", port)
        self._dask(self.first, "scheduler", *host)

    def _dask(self, machine, command, *words, **how):
        self._serve(machine, f"distributed.cli.dask_{command}", *words, *self._words, **how)

    def _serve(self, machine, module, *words, **how):
        process = machine.start("-m", module, *words, output=subprocess.DEVNULL, **how)
        self._running.callback(end, process)

    def worker(self, machine, **how):
        """Start a worker on a machine."""
        words = ("--nthreads=1", "--no-nanny", f"--local-directory={machine.home}")
        self._dask(machine, "worker", self.address, *words, **how)

    def workers(self, how=()):
        """Start a worker on each of the other machines."""
        for machine, options in zip(self.others, [*how, {}, {}], strict=False):
            self.worker(machine, **options, **self.keys)

    def store(self, bucket):
        """Start an S3 server with a bucket, which all processes that start later can reach."""
        port = free_port()
        self.keys = {
            "AWS_ENDPOINT_URL": f"http://{self.first.address}:{port}",
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        self._serve(self.first, "moto.server", "-H", self.first.address, "-p", port, **self.keys)
        self.in_store(f"""
            import time
            for _ in range(600):
                try:
                    files.mkdir({bucket!r})
                    break
                except OSError:
                    time.sleep(0.1)
        """)

    def in_store(self, code):
        """Run code on the store, `files`; return what it prints."""
        begin = "from s3fs import S3FileSystem; files = S3FileSystem()\n"
        done = self.first.start("-c", begin + dedent(code), **self.keys)
        out, said = done.communicate(timeout=PATIENCE)
        assert (said, done.returncode) == ("", 0)
        return out

    def building(self, folder="parts", game="bits:Bits", **options):
        """Start to build a game into a folder that all machines see."""
        given = {"cluster": self.address, "tls": self.tls, "parts": 2} | options
        given |= {"game": game, "folder": str(self.folder / folder)}
        process = self.first.start("-c", DRIVER, json.dumps(given), **self.keys)
        self._running.callback(end, process)
        return process

    def build(self, *words, **options):
        """Build a game; return what the process says."""
        process = self.building(*words, **options)
        out, said = process.communicate(timeout=PATIENCE)
        assert out == ""
        return said

    def digest(self, folder="parts"):
        """Return the digest of a built game; nothing else may be there."""
        path = self.folder / folder
        assert not draft_of(path).exists()
        assert [*path.rglob(".*")] == []
        return Folder.open(path).info["digest"]


def end(process):
    """Kill a process that this test has started."""
    process.kill()
    process.communicate(timeout=PATIENCE)


def free_port():
    """Return a free port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def wait_for(condition):
    """Wait until a condition is true; fail after `PATIENCE` seconds."""
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.002)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The digest of the game, built in memory."""
    folder = tmp_path_factory.mktemp("expected")
    (folder / "bits.py").write_text(RULES)
    build(find_game(f"{folder}/bits.py:Bits"), folder / "t.db")
    with Store.open(folder / "t.db") as store:
        return store.info["digest"]


@contextmanager
def site_in(folder, separate):
    """Yield a site; end all its processes."""
    with ExitStack() as running:
        yield Site(folder, separate, running)
    gc.collect()


@pytest.fixture
def site(tmp_path):
    """Three machines, in network namespaces if this user may make them."""
    with site_in(tmp_path, namespaces_work()) as site:
        yield site


@pytest.fixture(params=["namespaces", "processes"])
def either_site(request, tmp_path):
    """Three machines of each kind."""
    if request.param == "namespaces":
        needs_namespaces()
    with site_in(tmp_path, request.param == "namespaces") as site:
        yield site


FAST_CLOCK = """
import time
real = time.time
time.time = lambda: real() + 7 * 3600
"""


def test_machines_with_their_own_code_and_clocks_build_what_one_builds(either_site, expected):
    fast = either_site.others[0]
    (fast.library / "sitecustomize.py").write_text(FAST_CLOCK)
    either_site.workers()
    assert either_site.build() == ""
    assert either_site.digest() == expected
    counts = [len(machine.asked()) for machine in (either_site.first, *either_site.others)]
    assert counts[0] == 0
    assert all(counts[1:])


def test_another_version_on_one_machine_is_one_line(site):
    first, second = site.others
    (first.library / "bits.py").write_text(RULES.replace("(1, 0, -1)", "(1, -1, 0)"))
    site.workers()
    (line,) = site.build().splitlines()
    assert "the rules are" in line
    assert "where the build was begun; use the same on all machines" in line
    other = second.library / "graphstore-9.9.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: graphstore\nVersion: 9.9\n")
    (line,) = site.build("again").splitlines()
    assert f"worker tls://{second.address}:" in line
    assert "has graphstore 9.9, here graphstore" in line


def test_a_step_of_a_slow_machine_is_given_to_another(site, expected):
    slow, other = site.others
    (slow.library / "slow").touch()
    site.workers()
    assert site.build() == ""
    assert site.digest() == expected
    assert {*range(16, 64)} <= {*other.asked()}
    given = [position for position in slow.asked() if position >= 16]
    assert len(given) == 1  # then Dask gave it no other step


@pytest.mark.parametrize("how", ["killed", "stopped", "unplugged"])
def test_a_build_goes_on_without_a_machine_that_is_lost(site, expected, how):
    if how == "unplugged":
        needs_namespaces()
    lost, other = site.others
    (lost.library / "slow").touch()
    site.workers()
    building = site.building()
    wait_for(lambda: any(position >= 16 for position in lost.asked()))
    if how == "unplugged":
        lost.unplug()
    else:
        os.kill(lost.worker(), signal.SIGKILL if how == "killed" else signal.SIGSTOP)
    assert building.communicate(timeout=PATIENCE) == ("", "")
    assert site.digest() == expected
    assert {*range(16, 64)} <= {*other.asked()}


def hidden(folder):
    """Return a command that runs another one, which sees an empty folder instead of this one."""
    return ("sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(folder))


def test_machines_without_a_shared_folder_build_through_an_object_store(either_site, expected):
    site = either_site
    site.store("games")
    how = {"before": hidden(site.folder)} if site.first.space else {}
    site.workers([how, how])
    if how:
        (line,) = site.build("not-seen").splitlines()
        assert "does not see" in line
        assert "--exchange" in line
    for machine in site.others:
        (machine.library / "log").write_text("")
        (machine.library / "slow").touch()
    exchange = "s3://games/some"
    with_it = site.building(exchange=exchange)
    wait_for(lambda: any(each >= 16 for machine in site.others for each in machine.asked()))
    with_it.kill()
    for machine in site.others:
        (machine.library / "slow").unlink()
    assert site.build(exchange=exchange) == ""
    assert site.digest() == expected
    asked = sorted(position for machine in site.others for position in machine.asked())
    assert {*asked} == {*range(1, 64)}
    assert len([position for position in asked if position < 16]) == 15
    assert site.in_store("print(files.find('games'))") == "[]\n"
