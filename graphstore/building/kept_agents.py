"""Copy the agents of a game into the game that replaces it."""

from sqlalchemy import Connection

from graphstore.errors import StoreError
from graphstore.play.menace import read_stages
from graphstore.store import schema

DROP = "add --drop-agents (drop_agents=True) to delete them, or write to another file"


def carry_over(connection: Connection, old: str, new: str, address: str) -> list[str]:
    """Copy the agents of a game into the game that will replace it; return their names.

    `old` and `new` are the schemas of both games, as the connection names them. Raise a StoreError
    if the new game has other states or moves, or the old one has an older schema of agents.
    """
    run = connection.exec_driver_sql
    kept = [str(name) for (name,) in run(f"SELECT name FROM {old}.agent ORDER BY name")]
    if str(run(f"SELECT version_num FROM {old}.alembic_version").scalar()) < schema.BLOCKS:
        raise StoreError(
            f"{address} has agents ({', '.join(kept)}) of an older schema; first run: "
            f"graphstore upgrade {address}; or {DROP}"
        )
    if run(_OTHER_STATES.format(old=old, new=new)).first() is not None:
        raise StoreError(
            f"{address} has agents ({', '.join(kept)}) that cannot be kept: the game now has "
            f"other states or moves; {DROP}"
        )
    for table in schema.AGENT_TABLES:
        columns = ", ".join(column.name for column in table.columns)
        run(f"INSERT INTO {new}.{table} ({columns}) SELECT {columns} FROM {old}.{table}")
    for number, side, stages in run(f"SELECT id, side, stages FROM {new}.agent").all():
        run(_fill_new_boxes(new, number, side, stages))
    return kept


_OTHER_STATES = """
SELECT 1 FROM {old}.game AS before, {new}.game AS now WHERE before.digest <> now.digest
    AND ((now.extent <> 'below' OR before.extent <> 'below' OR before.rules <> now.rules)
        AND (SELECT length(blake2b) FROM {old}.digest WHERE name = 'state.id')
            = (SELECT length(blake2b) FROM {new}.digest WHERE name = 'state.id')
        OR EXISTS (SELECT parent, move, child FROM {old}.edge
            EXCEPT SELECT parent, move, child FROM {new}.edge))
"""
"""Digests of different kinds, of different lengths, do not tell whether the games differ."""


def _fill_new_boxes(new: str, number: int, side: int, stages: str) -> str:
    """Return the SQL that fills the boxes of the states that are new to an agent."""
    beads = read_stages(stages)
    cases = " ".join(f"WHEN {stage} THEN {count}" for stage, count in enumerate(beads))
    mine = f"AND (state.to_move IS NULL OR state.to_move = {side})" if side else ""
    return f"""
        INSERT INTO {new}.bead (agent, state, move, beads)
        SELECT {number}, edge.parent, min(edge.move),
            CASE state.ply / 2 {cases} ELSE {beads[-1]} END
        FROM {new}.edge AS edge JOIN {new}.state AS state ON state.id = edge.parent
        WHERE NOT EXISTS (SELECT 1 FROM {new}.bead AS b
                WHERE b.agent = {number} AND b.state = edge.parent)
            AND (SELECT count(*) FROM {new}.edge AS e WHERE e.parent = edge.parent) > 1 {mine}
        GROUP BY edge.parent, edge.child, state.ply"""
