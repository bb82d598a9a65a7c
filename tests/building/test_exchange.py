"""Games in parts whose processes exchange files through an object store, a server of moto."""

import json
from contextlib import contextmanager
from http.client import HTTPConnection
from urllib.parse import urlsplit

import numpy as np
import pytest
import s3fs
from conftest import SLOW, TableGame, check_all, random_table
from moto.server import ThreadedMotoServer
from stops import StoppedError, Stops

from graphstore import build_folder, find_game
from graphstore.building.parts.build import build
from graphstore.building.parts.places import HEAD, Objects, SharedFolder
from graphstore.building.parts.work import BlockId, Work
from graphstore.building.parts.workers import OwnProcess
from graphstore.errors import (
    AddressError,
    ArgumentError,
    MissingExtraError,
    RulesError,
    StoreError,
)
from graphstore.rules.adapter import accept
from graphstore.store.folder.layout import draft_of


@contextmanager
def s3_server():
    """Yield the address of an S3 server; end it."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        yield "http://{}:{}".format(*server.get_host_and_port())
    finally:
        server.stop()


@pytest.fixture(scope="module")
def server():
    """The address of an S3 server."""
    with s3_server() as address:
        yield address


@pytest.fixture
def bucket(server, monkeypatch, tmp_path):
    """The name of an empty bucket; the environment tells how to reach it."""
    name = f"bucket-{abs(hash(tmp_path))}"
    for key, value in {
        "AWS_ENDPOINT_URL": server,
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
    }.items():
        monkeypatch.setenv(key, value)
    s3fs.S3FileSystem.clear_instance_cache()
    store().mkdir(name)
    return name


def store():
    """Return the store, without what it remembers of other tests."""
    found = s3fs.S3FileSystem()
    found.invalidate_cache()
    return found


def need_keys(server, *, after):
    """Let a server refuse requests without a valid key, after so many others."""
    connection = HTTPConnection(urlsplit(server).netloc)
    connection.request("POST", "/moto-api/reset-auth", str(after), {"Content-Type": "text/plain"})
    assert connection.getresponse().status == 200
    connection.close()


class InExchange(Stops):
    """A worker that sees that no step leaves a file in the draft."""

    def __init__(self, draft, steps=-1):
        super().__init__(steps)
        self.draft = draft

    def run(self, calls, homes=()):
        for done in super().run(calls, homes):
            yield done
            there = {each.name for each in self.draft.rglob("*") if each.is_file()}
            assert there <= {"lock", "plan.json", "begun"}


def ring():
    """Return a game of few positions whose play can cycle."""
    return accept(TableGame(random_table(np.random.default_rng(7), 10, 10, cyclic=True), 0))


@pytest.mark.parametrize("scheme", ["file", pytest.param("s3", marks=SLOW)])
@pytest.mark.parametrize("game", [ring(), "nim(1,2)"], ids=["ring", "nim"])
def test_a_build_that_exchanges_files_resumes_and_leaves_only_the_game(
    bucket, scheme, game, tmp_path
):
    game = find_game(game) if isinstance(game, str) else game
    expected = build(game, tmp_path / "expected", workers=OwnProcess(), parts=2)
    place = f"{bucket}/games" if scheme == "s3" else (tmp_path / "exchange").as_posix()
    taken, target = [], tmp_path / "parts"
    while True:
        workers = InExchange(draft_of(target), 19)
        try:
            done = build(game, target, workers=workers, parts=2, exchange=f"{scheme}://{place}/")
            break
        except StoppedError:
            taken += workers.taken
    taken += workers.taken
    assert len({repr(each) for each in taken}) == len(taken) > 19
    assert done.info["digest"] == expected.info["digest"]
    assert done.contents.sums == expected.contents.sums
    assert not draft_of(target).exists()
    left = store().find(bucket) if scheme == "s3" else (tmp_path / "exchange").rglob("*")
    assert [*left] == []


@contextmanager
def begun(bucket, target):
    """Begin a build, stop it, and yield the names of its objects."""
    workers = InExchange(draft_of(target), 5)
    with pytest.raises(StoppedError):
        build(ring(), target, workers=workers, parts=2, exchange=f"s3://{bucket}/a")
    yield store().find(bucket)


def resumed(bucket, target):
    """Resume a build that cannot; return its line."""
    with pytest.raises(StoreError) as raised:
        build(ring(), target, workers=OwnProcess(), parts=2, exchange=f"s3://{bucket}/a")
    (line,) = str(raised.value).splitlines()
    return line


def test_a_damaged_object_is_named(bucket, tmp_path):
    with begun(bucket, tmp_path / "parts") as names:
        name = next(each for each in names if "/asks/" in each)
        held = bytearray(store().cat_file(name))
        held[len(held) // 2] ^= 1
        store().pipe_file(name, bytes(held))
    line = resumed(bucket, tmp_path / "parts")
    assert line.startswith(f"s3://{name} is damaged; remove the draft .NAME.building")
    store().rm_file(name)
    assert f"s3://{name} is damaged" in resumed(bucket, tmp_path / "parts")


def test_a_bucket_that_was_emptied_is_one_line(bucket, tmp_path):
    with begun(bucket, tmp_path / "parts") as names:
        store().rm(names)
    line = resumed(bucket, tmp_path / "parts")
    draft = draft_of(tmp_path / "parts")
    assert line.startswith(f"s3://{bucket}/a/")
    assert line.endswith(f"has lost the files of this build; remove {draft} and begin again")


def test_a_build_that_is_given_up_removes_its_objects(bucket, tmp_path):
    with begun(bucket, tmp_path / "parts") as names:
        assert names
    assert "was begun with other options (exchange" in resumed(f"{bucket}/b", tmp_path / "parts")
    again = {"workers": OwnProcess(), "parts": 1, "force": True}
    build(ring(), tmp_path / "parts", exchange=f"s3://{bucket}/b", **again)
    assert store().find(bucket) == []
    wrong = accept(
        TableGame({0: {1: 1}, 1: {}}, 0)
    )  # a position without moves and without a result
    with pytest.raises(RulesError):
        build(wrong, tmp_path / "wrong", workers=OwnProcess(), exchange=f"s3://{bucket}/b")
    assert store().find(bucket) == []


def test_a_step_that_outlives_its_build_leaves_no_object(bucket):
    place = Objects(f"s3://{bucket}/late")
    place.begin()
    place.put("a/b/c", lambda file: file.write(b"1"))
    place.end()
    with pytest.raises(StoreError, match="was removed by the build"):
        place.put("a/b/d", lambda file: file.write(b"1"))
    assert store().find(bucket) == []


def test_a_store_that_cannot_be_used_is_one_line(bucket, server, tmp_path, monkeypatch):
    def line():
        s3fs.S3FileSystem.clear_instance_cache()
        with pytest.raises(StoreError) as raised:
            build_folder("nim(1)", tmp_path / "parts", exchange=f"s3://{bucket}-2/a")
        (line,) = str(raised.value).splitlines()
        assert line.startswith(f"cannot use s3://{bucket}-2/a/")
        assert line.endswith("run the same command again to resume")
        assert "secret" not in line
        return line

    assert "bucket does not exist" in line()
    need_keys(server, after=0)
    assert "PermissionError" in line()
    need_keys(server, after=10**6)
    with s3_server() as gone:
        pass
    monkeypatch.setenv("AWS_ENDPOINT_URL", gone)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    assert "Could not connect" in line()
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    assert "NoCredentialsError" in line()
    plan = json.loads((draft_of(tmp_path / "parts") / "plan.json").read_text())["plan"]
    assert plan["exchange"] == f"s3://{bucket}-2/a"


def test_an_address_of_no_use_is_refused_in_one_line(tmp_path, without, run):
    def refuse(url, kind, message):
        with pytest.raises(kind, match=message) as raised:
            build_folder("nim(1)", tmp_path / "parts", exchange=url)
        (line,) = str(raised.value).splitlines()
        assert "secret" not in line

    words = ("--folder", tmp_path / "built", "--exchange", f"file://{tmp_path.as_posix()}/a")
    assert run("build", "nim(1)", *words).stdout
    assert [*(tmp_path / "a").iterdir()] == []
    without("gcsfs")
    check_all(
        [
            ("bucket/prefix", AddressError, "is not a place .* s3://bucket/prefix"),
            ("memory://a", AddressError, "is not a place"),
            ("simplecache::s3://a", AddressError, "is not a place"),
            ("s3://a/*", AddressError, "is not a place"),
            ("sftp://me:secret@host/a", AddressError, "leave the password out"),
            ("nonsense://a", AddressError, "nonsense"),
            ("gs://a/b", MissingExtraError, "gcsfs"),
            (3, ArgumentError, "exchange is"),
        ],
        refuse,
    )
    without("fsspec")
    refuse("s3://missing/a", MissingExtraError, "pip install s3fs")
    line = run("build", "nim(1)", "--db", tmp_path / "t.db", "--exchange", "s3://a/b").stderr
    assert "--exchange, --memory and --parts need" in line


@pytest.mark.parametrize("rows", [10, HEAD])
def test_rows_of_arrays_are_the_same_from_an_object_and_from_a_file(bucket, rows, tmp_path):
    random = np.random.default_rng(rows)
    begin = np.array([0, 0, rows // 3, rows - 1, rows])
    held = {
        "begin": begin,
        "id": random.integers(2**60, size=rows),
        "text": np.array([f"{number}." for number in range(rows)]),
        "none": np.empty(0, dtype=np.int16),
    }
    (tmp_path / "shared" / "work").mkdir(parents=True)
    objects = Objects(f"s3://{bucket}/rows")
    objects.begin()
    at = BlockId(1, 2)
    for place in (objects, SharedFolder(str(tmp_path / "shared"))):
        work = Work(place)
        work.save("kind", at, **held)
        work.save("plain", at, id=held["id"])
        work.note("step", at, {"long": "x" * rows})
        assert work.noted("step", at) == {"long": "x" * rows}
        found = work.load("kind", at)
        assert [*found] == [*held]
        for name, array in held.items():
            np.testing.assert_array_equal(found[name], array)
        np.testing.assert_array_equal(work.load("plain", at, (2, 9))["id"], held["id"][2:9])
        for first, end in ((0, 1), (1, 3), (0, 4), (4, 4)):
            some = slice(begin[first], begin[end])
            found = work.load("kind", at, (first, end))
            assert [*found] == ["id", "text", "none"]
            np.testing.assert_array_equal(found["id"], held["id"][some])
            np.testing.assert_array_equal(found["text"], held["text"][some])
            assert len(found["none"]) == 0
        work.check()
        assert [work.place.checksum(name) for name in ("work/kind/nothing",)] == [None]
        work.drop("kind", 1)
        work.clear("pla*")
        assert work.place.names("work") == ["work/step/0001/0002.json"]
