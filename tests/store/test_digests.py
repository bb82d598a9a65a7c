"""Digests of columns are sums over rows of the documented hash, which every change changes."""

import math
import random
import shutil
import struct
from hashlib import blake2b

import numpy as np
import pytest
from conftest import check_all, for_all
from hypothesis import given
from hypothesis import strategies as st
from stored import change, content, redigest

from graphstore import Store, build, train, upgrade, verify
from graphstore.checks.compare import compare
from graphstore.errors import NotAStoreError
from graphstore.store import digests
from graphstore.store.digests import ColumnDigests, OrderedDigests, added

# The definition in the docstring of graphstore.store.digests, one cell at a time.
BITS = 2**64
GOLDEN = 0x9E3779B97F4A7C15
LANES = (
    (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53),
    (0xBF58476D1CE4E5B9, 0x94D049BB133111EB),
)


def mix(x, first, second):
    x ^= x >> 32
    x = x * first % BITS
    x ^= x >> 32
    x = x * second % BITS
    return x ^ x >> 32


def words_of(cell, is_real):
    """Return the words of a cell, which is None if it is NULL."""
    if isinstance(cell, str):
        bytes_ = cell.encode() + b"\xff"
        bytes_ += bytes(-len(bytes_) % 8)
        return [int.from_bytes(bytes_[at : at + 8], "little") for at in range(0, len(bytes_), 8)]
    if is_real:
        null = cell is None or math.isnan(cell)
        return [0x7FF8000000000000 if null else struct.unpack("<Q", struct.pack("<d", cell))[0]]
    return [2**63 if cell is None else cell % BITS]


def hash_of(name, key, words):
    """Return both lanes of the hash of a cell of a named column, by the word of its key."""
    first, *others = words
    first ^= int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")
    lanes = []
    for multipliers in LANES:
        x = mix(key, *multipliers)
        for word in (first, *others):
            x = mix(x ^ word, *multipliers)
        lanes.append(x)
    return lanes


def plain_digests(table, kinds, rows):
    """Return the digests of rows, dictionaries of cells; `kinds` are the types of the columns."""
    found = {}
    for name, kind in kinds.items():
        sums, filled = [0, 0], False
        for row in rows:
            if table == "edge":
                key = (row["parent"] * GOLDEN + row["move"]) % BITS
            else:
                key = row["id" if table == "state" else "move"] % BITS
            if name not in ("margin", "nimber") or row[name] is not None:
                lanes = hash_of(f"{table}.{name}", key, words_of(row[name], kind is float))
                sums = [(one + other) % BITS for one, other in zip(sums, lanes, strict=True)]
                filled = True
        if filled:
            found[f"{table}.{name}"] = f"{sums[0]:016x}{sums[1]:016x}"
    return found


IDS = st.integers(0, 2**63 - 1) | st.integers(0, 50)
INTEGERS = st.integers(-(2**63) + 1, 2**63 - 1) | st.integers(-3, 3)
REALS = st.floats(width=64) | st.sampled_from((math.nan, math.inf, -math.inf, 0.0, -0.0))
TEXTS = st.text(st.characters(codec="utf-8"), max_size=30) | st.text("XO./é\0", max_size=30)
STATE = {"id": int, "position": str, "ply": int, "value": int, "score": float, "margin": int}
EDGE = {"parent": int, "move": int, "child": int}
MOVE = {"move": int, "name": str}


@st.composite
def tables(draw, least=0):
    """Return the name of a table, the types of its columns, and rows with distinct keys."""
    table, kinds = draw(st.sampled_from((("state", STATE), ("edge", EDGE), ("move", MOVE))))
    cells = {
        **dict.fromkeys(("id", "parent", "child"), IDS),
        **dict.fromkeys(("position", "name"), TEXTS),
        "move": st.integers(-(2**31), 2**31 - 1),
        "ply": st.none() | INTEGERS,
        "value": st.booleans(),
        "score": st.none() | REALS,
        "margin": draw(st.sampled_from((st.none(), INTEGERS, st.none() | INTEGERS))),
    }
    row = st.fixed_dictionaries({name: cells[name] for name in kinds})
    key = digests.KEYS[table]
    by_key = lambda row: tuple(row[name] for name in key)  # noqa: E731
    return table, kinds, draw(st.lists(row, unique_by=by_key, min_size=least, max_size=12))


def as_columns(kinds, rows, form="=", *, masked=True):
    """Return rows as columns: arrays, masked or with the value for NULL, and lists of texts.

    `form` is the order of the bytes of a number.
    """
    columns = {}
    for name, kind in kinds.items():
        cells = [row[name] for row in rows]
        if kind is not str:
            null = {int: digests.NULL, float: math.nan}[kind]
            filled = [0 if cell is None and masked else cell for cell in cells]
            filled = [null if cell is None else cell for cell in filled]
            are_bools = {*map(type, filled)} == {bool}
            type_ = "?" if are_bools else {int: f"{form}i8", float: f"{form}f8"}[kind]
            cells = np.array(filled, dtype=type_)
            nulls = [row[name] is None for row in rows]
            if masked and any(nulls):
                cells = np.ma.MaskedArray(cells, nulls)
        columns[name] = cells
    return columns


def digest(table, *parts, kind=ColumnDigests):
    hashes = kind()
    for part in parts:
        hashes.update_table(table, part)
    return hashes.of_columns()


def of_rows(table, kinds, rows):
    return digest(table, as_columns(kinds, rows))


@given(tables(), st.sampled_from("<>"), st.booleans())
def test_the_digests_are_the_documented_sums_in_every_order_of_bytes(given_, form, masked):
    table, kinds, rows = given_
    columns = as_columns(kinds, rows, form, masked=masked)
    assert digest(table, columns) == plain_digests(table, kinds, rows)


def many_states(count):
    """Return columns of so many states, in types that a build has, and as rows."""
    chance = np.random.default_rng(count)
    columns = {
        "id": chance.choice(2**40, count, replace=False),
        "position": ["XO."[row % 3] * (row % 21) for row in range(count)],
        "ply": chance.integers(0, 99, count, dtype=np.int16),
        "value": chance.integers(-1, 2, count, dtype=np.int8),
        "score": np.ma.masked_less(chance.random(count), 0.3),
        "margin": np.ma.masked_less(chance.integers(-5, 5, count, dtype=np.int16), 0),
    }
    lists = {
        name: cells if type(cells) is list else cells.tolist() for name, cells in columns.items()
    }
    return columns, [
        dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)
    ]


def test_tables_that_are_hashed_in_several_pieces_have_the_same_sums(monkeypatch):
    columns, rows = many_states(1_000)
    expected = plain_digests("state", STATE, rows)
    for size in (1, 7, 333, 999, 1_000, 1_001):
        monkeypatch.setattr(digests, "_ROWS", size)
        assert digest("state", columns) == expected


def test_the_columns_given_are_not_changed():
    columns, rows = many_states(100)
    before = {
        name: cells[:] if type(cells) is list else cells.copy() for name, cells in columns.items()
    }
    digest("state", columns)
    for name, cells in columns.items():
        assert (
            np.ma.allequal(before[name], cells)
            if type(cells) is not list
            else before[name] == cells
        )
    assert len(rows) == 100


@given(tables(), st.randoms(use_true_random=False), st.integers(1, 4))
def test_neither_the_order_of_rows_nor_the_parts_change_a_digest(given_, chance, parts):
    table, kinds, rows = given_
    expected = of_rows(table, kinds, rows)
    part = [chance.randrange(parts) for _ in rows]
    moved = chance.sample(range(len(rows)), len(rows))
    pieces = [
        as_columns(kinds, [rows[row] for row in moved if part[row] == number])
        for number in range(parts)
    ]
    assert digest(table, *pieces) == expected
    assert added(digest(table, each) for each in pieces) == expected


def test_sums_are_added_modulo_two_to_the_64_in_each_lane():
    one = {"edge.move": "f" * 16 + "0" * 15 + "2", "edge.child": "1" * 32}
    other = {"edge.move": "0" * 15 + "3" + "f" * 16}
    expected = {"edge.child": "1" * 32, "edge.move": "0" * 15 + "2" + "0" * 15 + "1"}
    assert added([one, other]) == added([other, {}, one]) == expected
    assert added([]) == {}


def other_cell(cell, kind, chance):
    """Return another cell of a column."""
    if kind is int:
        near = [0, 1, -1, digests.NULL if cell is None else cell ^ 1 << chance.randrange(63)]
    elif kind is float:
        near = [0.0, 0.25, math.inf, None, -1.0 if cell is None else -cell]
    else:
        near = ["", cell[:-1], cell[1:], *(cell + more for more in ("\0", " ", "\0" * 8, "X" * 9))]
    words = words_of(cell, kind is float)
    return chance.choice([each for each in near if words_of(each, kind is float) != words])


def changed(rows, row, **cells):
    return [*rows[:row], rows[row] | cells, *rows[row + 1 :]]


@given(tables(least=2), st.randoms(use_true_random=False))
def test_every_change_of_a_table_changes_a_digest(given_, chance):
    table, kinds, rows = given_
    before = of_rows(table, kinds, rows)
    key = digests.KEYS[table]
    row, other = chance.sample(range(len(rows)), 2)
    plain = [name for name in kinds if name not in key]
    name = chance.choice(plain)
    kind = kinds[name]

    after = of_rows(
        table, kinds, changed(rows, row, **{name: other_cell(rows[row][name], kind, chance)})
    )
    assert {
        each for each in kinds if after.get(f"{table}.{each}") != before.get(f"{table}.{each}")
    } == {name}

    swapped = changed(
        changed(rows, row, **{name: rows[other][name]}), other, **{name: rows[row][name]}
    )
    cells = [words_of(rows[each][name], kind is float) for each in (row, other)]
    same = of_rows(table, kinds, swapped).get(f"{table}.{name}") == before.get(f"{table}.{name}")
    assert same == (cells[0] == cells[1])

    of_key = f"{table}.{key[0]}"
    assert of_rows(table, kinds, rows[1:]).get(of_key) != before[of_key]
    assert of_rows(table, kinds, [*rows, rows[row]])[of_key] != before[of_key]
    renamed = changed(rows, row, **{key[-1]: rows[row][key[-1]] ^ 1})
    after = of_rows(table, kinds, renamed)
    for each in kinds:  # of all columns, for the key is in each hash
        null = rows[row][each] is None and each == "margin"
        assert (after.get(f"{table}.{each}") == before.get(f"{table}.{each}")) == null, each


@given(st.lists(IDS, min_size=1, unique=True), INTEGERS)
def test_equal_cells_in_two_columns_or_tables_have_other_digests(ids, cell):
    keys, cells = np.array(ids), np.full(len(ids), cell)
    state = digest("state", {"id": keys, "ply": cells, "value": cells, "orbit": keys})
    edge = digest("edge", {"parent": keys, "move": keys * 0, "child": keys})
    assert len({*state.values(), *edge.values()}) == len(state) + len(edge)


def test_cells_that_are_moved_within_a_row_or_together_change_both_digests():
    rows = [{"parent": 1, "move": 2, "child": 3}, {"parent": 4, "move": 5, "child": 6}]
    before = of_rows("edge", EDGE, rows)
    changes = {
        "cells of one row": [{"parent": 1, "move": 3, "child": 2}, rows[1]],
        "keys of two rows": [
            rows[0] | {"parent": 4, "move": 5},
            rows[1] | {"parent": 1, "move": 2},
        ],
        "one up, one down": [rows[0] | {"child": 4}, rows[1] | {"child": 5}],
        "parents": [rows[0] | {"parent": 4}, rows[1] | {"parent": 1}],
    }
    for what, after in changes.items():
        assert of_rows("edge", EDGE, after)["edge.child"] != before["edge.child"], what


HASHES = {
    "key": lambda word: hash_of("state.ply", word, [3]),
    "cell": lambda word: hash_of("state.ply", 1, [word]),
    "first word of two": lambda word: hash_of("state.position", 1, [word, 3]),
}


@pytest.mark.parametrize("what", HASHES)
def test_each_bit_of_a_key_or_a_cell_changes_each_bit_of_the_hash_half_of_the_time(what):
    """The tests above check that the program computes this hash."""
    chance, size, of = random.Random(7), 200, HASHES[what]
    changed = np.zeros((64, 128))  # how often, by bit of the word, then by bit of the hash
    for word in (*range(size // 2), *(chance.getrandbits(64) for _ in range(size // 2))):
        before = of(word)
        for bit in range(64):
            lanes = [a ^ b for a, b in zip(of(word ^ 1 << bit), before, strict=True)]
            of_lanes = b"".join(lane.to_bytes(8, "little") for lane in lanes)
            changed[bit] += np.unpackbits(np.frombuffer(of_lanes, np.uint8))
    spread = 0.5 / size**0.5
    assert abs(changed / size - 0.5).max() < 6 * spread  # of 8,192 shares, each within 6 sigma
    assert abs(changed.mean() / size - 0.5) < 0.005


def test_sums_of_regular_tables_differ():
    """Rows of small numbers in an order are the cells that tables have."""
    ids = np.arange(200)
    found = [
        digest("state", {"id": ids + shift, "ply": ids * step + more})["state.ply"]
        for shift in range(10)
        for step in range(-3, 4)
        for more in range(10)
    ]
    assert (
        len({*found})
        == len({each[:16] for each in found})
        == len({each[16:] for each in found})
        == 700
    )


@pytest.mark.parametrize("kind", [ColumnDigests, OrderedDigests])
def test_columns_without_cells_have_no_digest(kind):
    ids, null = np.arange(3), np.full(3, digests.NULL)
    masked = np.ma.masked_all(3, np.int16)
    cases = [{"margin": null}, {"margin": masked}, {"margin": null, "nimber": masked}]
    check_all(
        cases,
        lambda case: _equal(digest("state", {"id": ids} | case, kind=kind).keys(), ["state.id"]),
    )
    assert "state.ply" in digest("state", {"id": ids, "ply": masked}, kind=kind)


def _equal(one, other):
    assert [*one] == other


def test_a_table_without_rows_has_no_digests():
    empty = {"id": np.arange(0), "position": [], "ply": np.ma.masked_all(0, np.int8)}
    assert digest("state", empty) == digest("state") == digests.of_names({}) == {}


def test_the_length_of_a_digest_tells_its_kind():
    columns, _ = many_states(10)
    by_id = np.argsort(columns["id"])
    found = digest("state", columns)
    before = digest(
        "state", {"id": columns["id"][by_id], "ply": columns["ply"][by_id]}, kind=OrderedDigests
    )
    assert {len(each) for each in found.values()} == {32}
    assert {len(each) for each in before.values()} == {64}
    assert not digests.are_ordered(found)
    assert digests.are_ordered(before)
    assert not digests.are_ordered({})


def make_older(path):
    """Give a file the digests and the schema of older versions."""
    redigest(path, OrderedDigests)
    change(path, "UPDATE alembic_version SET version_num = '0007'")


def test_a_file_of_an_older_version_is_checked_by_its_own_digests(copy, tictactoe_db):
    make_older(copy)
    verdict = verify(copy)
    assert (verdict.problems, verdict.skipped) == ((), ())
    assert verify(copy, sample=20, seed=1).ok
    for pair in ((copy, tictactoe_db), (tictactoe_db, copy)):
        found = compare(*pair)
        assert found.same
        assert (found.read, found.digests, found.digests_tell) == (("state", "edge"), (), True)
    assert compare(copy, copy).read == ()
    assert upgrade(copy) == "0007"
    assert content(copy) == content(tictactoe_db)
    assert compare(copy, tictactoe_db).read == ()


@for_all(
    ("statement", "columns"),
    [
        ("UPDATE state SET value = 1 - abs(value) WHERE ply = 1", ["state.value"]),
        ("UPDATE edge SET child = child + 1 WHERE parent = 0", ["edge.child"]),
        ("DELETE FROM edge WHERE parent = 0", ["edge.child", "edge.move", "edge.parent"]),
    ],
)
def test_what_was_changed_in_a_file_of_an_older_version_is_named(
    statement, columns, tictactoe_db, tmp_path
):
    path = shutil.copy(tictactoe_db, tmp_path / "older.db")
    make_older(path)
    change(path, statement)
    assert {each.row for each in verify(path).problems if each.table == "digest"} >= {*columns}
    found = compare(path, tictactoe_db)
    assert (found.digests, found.digests_tell, found.same) == ((*columns,), True, False)
    with pytest.raises(NotAStoreError, match=f"changed in {', '.join(columns)}; rebuild"):
        upgrade(path)


@for_all("game", ["kayles(5)", "hexapawn(3,3)"])
def test_older_nimbers_and_names_of_moves_have_digests_of_their_kind(game, tmp_path):
    older, new = tmp_path / "older.db", tmp_path / "new.db"
    for path in (older, new):
        build(game, path, force=True)
    make_older(older)
    assert verify(older).ok
    found = compare(older, new)
    assert (found.digests, found.digests_tell, found.same) == ((), True, True)
    assert upgrade(older) == "0007"
    assert content(older) == content(new)
    make_older(older)
    change(older, "UPDATE state SET nimber = NULL", "DELETE FROM digest WHERE name LIKE '%nimber'")
    found = compare(older, new)
    digests_ = ("state.nimber",) if game == "kayles(5)" else ()
    assert (found.digests, found.digests_tell) == (digests_, True)


def test_agents_of_an_older_version_are_kept(tmp_path):
    path = tmp_path / "game.db"
    build("nim(1,2)", path)
    make_older(path)
    train(path, "m", games=3, seed=1)
    assert build("nim(1,2)", path, force=True).agents == ("m",)
    with Store.open(path) as store:
        assert verify(store).ok
