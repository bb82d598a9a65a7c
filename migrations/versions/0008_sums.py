"""The digests of columns as sums over rows, after a check of those over all rows in key order."""

import json
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
import sqlalchemy as sa
from alembic import op
from alembic.util import CommandError

revision = "0008"
down_revision = "0007"

CHUNK = 20_000  # rows read at once
NULL = -(2**63)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.array([[0xFF51AFD7ED558CCD], [0xBF58476D1CE4E5B9]], dtype=np.uint64)
SECOND = np.array([[0xC4CEB9FE1A85EC53], [0x94D049BB133111EB]], dtype=np.uint64)
TABLES = {
    "state": "id position ply to_move ended value remoteness score win_depth lose_depth orbit "
    "random_value best_response margin nimber",
    "edge": "parent move child",
    "move": "move name",
}
KEYS = {"state": "id", "edge": "parent, move", "move": "move"}
TEXTS = ("position", "name")
REALS = ("score", "random_value", "best_response")
LATER = ("margin", "nimber")


def upgrade() -> None:
    """Apply this revision."""
    connection = op.get_bind()
    before = connection.execute(sa.text("SELECT digest FROM game")).scalar_one_or_none()
    if before is None:  # a new file: the build fills it
        return
    rows = connection.execute(sa.text("SELECT name, blake2b FROM digest"))
    stored = {name: value for name, value in rows if name.partition(".")[0] in TABLES}
    old, new = _digests()
    if _of_content(stored) != before:
        raise CommandError("damaged: its digests are not those it was built with; rebuild it")
    changed = sorted(name for name in old.keys() | stored if old.get(name) != stored.get(name))
    if changed:
        raise CommandError(f"damaged: cells were changed in {', '.join(changed)}; rebuild it")
    digest = _of_content(new)
    connection.execute(sa.text("UPDATE game SET digest = :digest"), {"digest": digest})
    new["game.digest"] = _of_json(digest)
    put = sa.text("UPDATE digest SET blake2b = :value WHERE name = :name")
    connection.execute(put, [{"name": name, "value": value} for name, value in new.items()])


def _digests() -> tuple[dict[str, str], dict[str, str]]:
    """Return the digests of all columns as earlier versions made them, and as sums."""
    hashes: dict[str, Any] = {}
    sums: dict[str, Any] = {}
    for table, names in TABLES.items():
        for columns in _columns(table, names.split()):
            lanes = _lanes(columns)
            for name, cells in columns.items():
                if name in LATER and (cells == NULL).all():
                    continue
                of = f"{table}.{name}"
                joined = "\0".join([*cells, ""]).encode() if name in TEXTS else cells.tobytes()
                hashes.setdefault(of, blake2b(digest_size=32)).update(joined)
                sums[of] = sums.get(of, np.zeros(2, np.uint64)) + _sum(of, lanes, cells)
    return (
        {name: found.hexdigest() for name, found in hashes.items()},
        {name: "{:016x}{:016x}".format(*lanes.tolist()) for name, lanes in sums.items()},
    )


def _columns(table: str, names: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the columns of a table in key order: lists of texts, and arrays of 64-bit numbers."""
    query = f"SELECT {', '.join(names)} FROM {table} ORDER BY {KEYS[table]}"
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":  # the driver is three times as fast as SQLAlchemy
        rows: Any = connection.connection.cursor().execute(query)
    else:
        rows = connection.execute(sa.text(query), execution_options={"stream_results": True})
    while some := rows.fetchmany(CHUNK):
        columns: dict[str, Any] = dict(zip(names, zip(*some, strict=True), strict=True))
        for name, cells in columns.items():
            if name in REALS:
                columns[name] = np.array(cells, dtype="<f8")
            elif name not in TEXTS:
                if None in cells:
                    cells = [NULL if cell is None else cell for cell in cells]
                columns[name] = np.array(cells, dtype="<i8")
        yield columns


def _lanes(columns: dict[str, Any]) -> Any:
    """Return the lanes of rows, uint64[2, n], from their key."""
    key = next(iter(columns.values())).astype(np.int64).view(np.uint64)
    if "parent" in columns:
        key = key * GOLDEN + columns["move"].astype(np.int64).view(np.uint64)
    return _mix(np.zeros((2, 1), np.uint64), key)


def _sum(of: str, lanes: Any, cells: Any) -> Any:
    """Return the sum of the hashes of cells, uint64[2]."""
    name = int.from_bytes(blake2b(of.encode(), digest_size=8).digest(), "little")
    if isinstance(cells, tuple):
        texts = [text.encode() + b"\xff" for text in cells]
        count = np.array([-(-len(text) // 8) for text in texts])
        width = 8 * int(count.max())
        joined = b"".join(text.ljust(width, b"\0") for text in texts)
        words = np.frombuffer(joined, "<u8").reshape(len(texts), -1).astype(np.uint64)
        words[:, 0] ^= np.uint64(name)
        for at in range(words.shape[1]):
            lanes = np.where(count > at, _mix(lanes, words[:, at]), lanes)
    elif cells.dtype.kind == "f":
        bits = np.where(np.isnan(cells), np.nan, cells).astype(np.float64).view(np.uint64)
        lanes = _mix(lanes, bits ^ np.uint64(name))
    else:
        lanes = _mix(lanes, cells.astype(np.int64).view(np.uint64) ^ np.uint64(name))
        if of.partition(".")[2] in LATER:
            lanes[:, cells == NULL] = 0
    return lanes.sum(axis=1)


def _mix(lanes: Any, words: Any) -> Any:
    lanes = lanes ^ words
    for multiplier in (FIRST, SECOND):
        lanes = (lanes ^ lanes >> np.uint64(32)) * multiplier
    return lanes ^ lanes >> np.uint64(32)


def _of_content(columns: dict[str, str]) -> str:
    names = sorted(name for name in columns if name[:5] in ("state", "edge."))
    return _of_json([(name, columns[name]) for name in names if name != "state.nimber"])


def _of_json(value: Any) -> str:
    return blake2b(json.dumps(value).encode(), digest_size=32).hexdigest()
