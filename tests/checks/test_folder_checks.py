"""`verify` says of a folder of Parquet files what it says of a database with the same rows."""

import shutil

import numpy as np
import pyarrow.parquet
import pytest
from conftest import DATA, error_line, for_all, some_of
from stored import change, redigest, scatter
from test_verification import FORGED, ROWS

from graphstore import Folder, Store, build_folder, find_game
from graphstore.checks import verify
from graphstore.checks.file import conditions, folder, reading
from graphstore.checks.file.findings import Check
from graphstore.errors import ArgumentError, GraphstoreError
from graphstore.store import schema
from graphstore.store.digests import NULL
from graphstore.store.folder.layout import MANIFEST, Contents, write_manifest


@pytest.fixture(scope="session")
def tictactoe(tmp_path_factory):
    """Tic-tac-toe in three parts; a test that writes must use a copy."""
    path = tmp_path_factory.mktemp("folder") / "tictactoe"
    return build_folder("tictactoe", path, parts=3) and path


def written(store, path):
    """Write the rows of a database to a folder in three parts."""
    tables = {table: [*reading.DatabaseRows(store).parts(table)] for table in ("state", "edge")}
    with store.connect() as connection:
        stored = dict(connection.execute(schema.digest.select()).all())
        names = dict(connection.execute(schema.move.select()).all())
    for table, parts in tables.items():
        columns = {
            name: [text for part in parts for text in part[name]]
            if name == "position"
            else np.ma.masked_equal(np.concatenate([part[name] for part in parts]), NULL)
            for name in parts[0]
        }
        for name in ("random_value", "best_response"):
            if name in columns:
                columns[name] = np.ma.masked_invalid(columns[name])
        of = {int(each): int(each) % 3 for each in columns[{"state": "id"}.get(table, "parent")]}
        (path / table / "wave-0000").mkdir(parents=True)
        scatter(path, table, columns, of, 7)
    of_columns = {str(column) for table in schema.STORED.values() for column in table}
    digests = {name: each for name, each in stored.items() if name in of_columns}
    write_manifest(path, Contents(store.info, digests, (), {}, {}, names))


CHANGES = {
    **FORGED,
    **{what: ROWS[what] for what in ROWS if "digest" not in what and "all" not in what},
}


@pytest.mark.parametrize("what", some_of(CHANGES, 3))
def test_what_is_wrong_in_a_database_is_wrong_in_a_folder_of_its_rows(copy, tmp_path, what):
    change(copy, *CHANGES[what])
    redigest(copy)
    with Store.open(copy) as store:
        in_database = verify(store)
        written(store, tmp_path / "folder")
    in_folder = verify(tmp_path / "folder")
    if any(problem.table == "file" for problem in in_folder.problems):
        assert "states, not" in str(in_folder) or "moves, not" in str(in_folder)
        return  # the number of rows is that of the table game, or nothing else is read
    expected = [problem for problem in in_database.problems if problem.table != "file"]
    assert sorted(map(str, in_folder.problems)) == sorted(map(str, expected))
    assert in_folder.more == in_database.more


def test_a_folder_as_built_is_correct(tictactoe, tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "MEMORY", 1 << 12)
    verdict = verify(tictactoe)
    assert (verdict.ok, verdict.skipped) == (True, ())
    assert len(verdict.checked) == 13 - 1  # neither a schema nor agents
    for name in ("mnk(1,2,2)", *LATER.values()):
        assert verify(build_folder(name, tmp_path / name, parts=2).file).ok
    rules = f"{DATA}/ring.py:Ring"  # with cycles
    build_folder(find_game(rules), tmp_path / "ring", parts=2)
    assert verify(tmp_path / "ring", rules=rules).ok
    assert "states and edges against the rules" in str(verify(tmp_path / "ring").skipped)


LATER = {"margin": "dots_and_boxes(1,3)", "nimber": "kayles(5)"}
"""Games that have columns which others lack; in the first one, moves may keep the turn."""
COLUMNS = [str(each) for t in schema.STORED.values() for each in t if each.name not in LATER]


@pytest.mark.parametrize("column", [*some_of(COLUMNS, 3), *(f"state.{name}" for name in LATER)])
def test_a_changed_cell_of_a_file_is_named(tictactoe, tmp_path, column):
    path = tmp_path / "changed"
    table, name = column.split(".")
    if name in LATER:
        build_folder(LATER[name], path, parts=2)
    else:
        shutil.copytree(tictactoe, path)
    file = Folder.open(path).files(table)[-1]
    rows = pyarrow.parquet.read_table(file)
    cells = rows[name].to_pylist()
    first = cells[0]
    cells[0] = (
        f"{first}x"
        if isinstance(first, str)
        else not first
        if name == "ended"
        else (first or 0) + 1
    )
    place = rows.column_names.index(name)
    changed = rows.set_column(place, name, pyarrow.array(cells, rows.schema.field(name).type))
    pyarrow.parquet.write_table(changed, file)
    assert any(
        name in problem.column.split() or problem.row == column for problem in verify(path).problems
    )


def with_other_bounds(file):
    ids = pyarrow.parquet.read_table(file)["id"].to_pylist()
    first, last = (each.to_bytes(8, "little") for each in (ids[0], ids[-1]))
    content = file.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    file.write_bytes(content[:footer] + content[footer:].replace(last, first))


def renamed(file):
    file.rename(file.with_name("part-0007.parquet"))


@for_all("damage", [with_other_bounds, renamed])
def test_a_file_whose_rows_are_not_found_is_named(tictactoe, tmp_path, damage):
    path = tmp_path / damage.__name__
    shutil.copytree(tictactoe, path)
    file = path / "state" / "wave-0005" / "part-0000.parquet"
    (state, *_) = pyarrow.parquet.read_table(file)["id"].to_pylist()[1:]
    damage(file)
    with Store.open(path) as store, pytest.raises(GraphstoreError):
        store.probe(state)
    assert [problem.row for problem in verify(path).problems] == [str(file)]


def test_cells_that_no_table_takes_are_named(tictactoe):
    part = next(folder.FolderRows(Folder.open(tictactoe))._parts("state"))
    part |= {"value": part["value"] + 0, "random_value": part["random_value"] + 0}
    assert not [each for each in conditions.of_columns(schema.state, part) if len(each.ids)]
    part["value"][[3, 5]] = 7, -2
    part["random_value"][4] = np.nan
    found = [each for each in conditions.of_columns(schema.state, part) if len(each.ids)]
    assert [(each.column, each.ids.tolist()) for each in found] == [
        ("random_value", part["id"][[4]].tolist()),
        ("value", part["id"][[5]].tolist()),
        ("value", part["id"][[3]].tolist()),
    ]


def test_the_command_checks_a_folder_and_names_its_damage_in_one_line(run, tictactoe, tmp_path):
    done = run("verify", tictactoe)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{tictactoe} is correct: 765 states, 2,270 moves" in done.stdout.replace("\n", " ")
    assert "leave out --sample" in run("verify", tictactoe, "--sample", 5).stderr
    with pytest.raises(ArgumentError, match="leave sample out"):
        verify(tictactoe, sample=5)
    path = shutil.copytree(tictactoe, tmp_path / "damaged")
    file = Folder.open(path).files("edge")[2]
    file.write_bytes(file.read_bytes()[:-9])
    done = run("verify", path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert str(file) in done.stdout
    file.unlink()
    assert "its files have" in run("verify", path).stdout
    (path / MANIFEST).unlink()
    assert MANIFEST in error_line(run("verify", path))
    assert Check.STRUCTURE in verify(tictactoe).checked
