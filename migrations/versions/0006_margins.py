"""The columns margin and nimber of state; in older files nimbers follow from the edges.

Of these, no game has margins. A column without cells has no digest.
"""

import re
from hashlib import blake2b
from typing import Any

import numpy as np
import sqlalchemy as sa
from alembic import op
from alembic.util import CommandError

revision = "0006"
down_revision = "0005"

CHUNK = 50_000  # rows updated at once
SMALL = sa.SmallInteger().with_variant(sa.INTEGER(), "sqlite")
IMPARTIAL = re.compile(r"(nim|subtraction|octal|kayles|dawson|wythoff|chomp)\([^:]*\)")


def upgrade() -> None:
    """Apply this revision."""
    op.add_column("state", sa.Column("margin", SMALL))
    op.add_column("state", sa.Column("nimber", SMALL))
    connection = op.get_bind()
    game = connection.execute(sa.text("SELECT name, rules FROM game")).one_or_none()
    if game is None:  # a new file: the build fills it
        return
    name, rules = game
    if rules != "1" or not IMPARTIAL.fullmatch(name) or "misere" in name:
        return
    (ids,) = _columns("SELECT id FROM state ORDER BY id", 1)
    parent, child = _columns("SELECT parent, child FROM edge ORDER BY parent, move", 2)
    found = _nimbers(ids, parent, child)
    state = sa.table("state", sa.column("id"), sa.column("nimber"))
    put = sa.update(state).where(state.c.id == sa.bindparam("of_state"))
    for begin in range(0, len(ids), CHUNK):
        some = slice(begin, begin + CHUNK)
        cells = zip(ids[some].tolist(), found[some].tolist(), strict=True)
        connection.execute(put, [{"of_state": key, "nimber": nimber} for key, nimber in cells])
    digest = blake2b(found.astype("<i8").tobytes(), digest_size=32).hexdigest()
    insert = sa.text("INSERT INTO digest (name, blake2b) VALUES ('state.nimber', :blake2b)")
    connection.execute(insert, {"blake2b": digest})


def _columns(query: str, width: int) -> list[Any]:
    """Return the integer columns of a query."""
    rows = op.get_bind().execute(sa.text(query), execution_options={"stream_results": True})
    table = np.fromiter(map(tuple, rows), np.dtype([("", "i8")] * width))
    return [np.ascontiguousarray(table[name]) for name in table.dtype.names or ()]


def _nimbers(ids: Any, parent: Any, child: Any) -> Any:
    """Return int64[n]: the least number that no child of a state has, after those of its children.

    A state without moves has 0.
    """
    above, below = (np.searchsorted(ids, ends).clip(max=len(ids) - 1) for ends in (parent, child))
    if not ids.size or (ids[above] != parent).any() or (ids[below] != child).any():
        raise CommandError("damaged: a move does not join two states")
    found, left = np.zeros(len(ids), dtype=np.int64), np.bincount(above, minlength=len(ids))
    offset, order = np.append(0, np.cumsum(left)), np.argsort(below, kind="stable")
    of_child = np.searchsorted(below[order], np.arange(len(ids) + 1))
    wave, done = np.flatnonzero(left == 0), 0
    while wave.size:
        done += len(wave)
        parents = above[order[_ragged(of_child, wave)]]
        np.subtract.at(left, parents, 1)
        wave = np.unique(parents[left[parents] == 0])
        row = np.repeat(np.arange(len(wave)), offset[wave + 1] - offset[wave])
        pairs = np.unique(row << 32 | found[below[_ragged(offset, wave)]])
        row = pairs >> 32
        rank = np.arange(len(pairs)) - np.searchsorted(row, np.arange(len(wave)))[row]
        found[wave] = np.bincount(row[pairs & 0xFFFFFFFF == rank], minlength=len(wave))
    if done < len(ids):
        raise CommandError("damaged: play of this game cannot return to a position")
    return found


def _ragged(offset: Any, rows: Any) -> Any:
    """Return the indices of all entries of these rows of a ragged array."""
    count = offset[rows + 1] - offset[rows]
    end = np.cumsum(count)
    return np.repeat(offset[rows] - end + count, count) + np.arange(end[-1] if end.size else 0)
