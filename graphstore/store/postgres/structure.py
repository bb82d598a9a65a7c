"""Checks of an untrusted schema in PostgreSQL, so that reading and writing it run no code.

Connections begin with pg_catalog as their search path. Functions and operators of the schema could
stand in for those of pg_catalog, so it is put on the path only after `refuse_traps`.
"""

import re
from typing import Any, Final

from sqlalchemy import Connection, text

from graphstore.errors import NotAStoreError
from graphstore.store import schema
from graphstore.store.migrating import create
from graphstore.store.postgres.server import Address, quoted

_TABLES: Final = [*schema.metadata.tables, "alembic_version"]
_NAMES: Final = {
    "tables": _TABLES,
    "names": list(schema.OBJECTS),
    "views": list(schema.VIEWS),
    "agents": list(map(str, schema.AGENT_TABLES)),
}

_TRAPS: Final = """
WITH mine AS (
    SELECT * FROM pg_class WHERE relnamespace = :namespace AND relname = ANY(:names)
), used AS (
    SELECT * FROM mine WHERE relname = ANY(:tables)
), parts AS (
    SELECT 'pg_class'::regclass AS class, oid, relname FROM mine
    UNION ALL SELECT 'pg_class'::regclass, indexrelid, relname
        FROM pg_index JOIN mine ON mine.oid = indrelid
    UNION ALL SELECT 'pg_attrdef'::regclass, a.oid, relname
        FROM pg_attrdef AS a JOIN mine ON mine.oid = adrelid
    UNION ALL SELECT 'pg_constraint'::regclass, c.oid, relname
        FROM pg_constraint AS c JOIN mine ON mine.oid = conrelid
    UNION ALL SELECT 'pg_rewrite'::regclass, r.oid, relname
        FROM pg_rewrite AS r JOIN mine ON mine.oid = ev_class
    UNION ALL SELECT 'pg_statistic_ext'::regclass, s.oid, relname
        FROM pg_statistic_ext AS s JOIN mine ON mine.oid = stxrelid
)
SELECT relname || ' is not a plain table' FROM used WHERE relkind <> 'r'
UNION ALL SELECT relname || ' is not a view' FROM mine
    WHERE relname = ANY(:views) AND relkind <> 'v'
UNION ALL SELECT relname || ' has row-level security' FROM used WHERE relrowsecurity
UNION ALL SELECT relname || ' inherits' FROM used JOIN pg_inherits
    ON used.oid IN (inhparent, inhrelid)
UNION ALL SELECT relname || ' has a trigger, ' || tgname
    FROM used JOIN pg_trigger ON tgrelid = used.oid WHERE NOT tgisinternal
UNION ALL SELECT relname || ' has a rule, ' || rulename
    FROM used JOIN pg_rewrite ON ev_class = used.oid
UNION ALL SELECT 'there is a function, ' || proname
    FROM pg_proc WHERE pronamespace = :namespace
UNION ALL SELECT 'there is an operator, ' || oprname
    FROM pg_operator WHERE oprnamespace = :namespace
UNION ALL SELECT p.relname || ' uses ' || pg_describe_object(refclassid, refobjid, 0)
    FROM parts AS p JOIN pg_depend ON classid = class AND objid = p.oid
    WHERE refclassid NOT IN ('pg_namespace'::regclass, 'pg_constraint'::regclass)
        AND (refclassid, refobjid) NOT IN (SELECT class, oid FROM parts)
LIMIT 1
"""

# PostgreSQL does not record that a view uses its own functions. It writes their names in lower case
# and keywords, such as FILTER, in upper case.
_VIEWS: Final = """
SELECT relname, pg_get_viewdef(oid) FROM pg_class
WHERE relnamespace = :namespace AND relname = ANY(:views) AND relkind = 'v'
"""
_CALL: Final = re.compile(r'([\w."]+)\s*\(')
_FUNCTIONS: Final = {"count", "max", "rank", "sum"}

_DEFINITIONS: Final = """
SELECT c.relname, CASE c.relkind
    WHEN 'v' THEN pg_get_viewdef(c.oid)
    WHEN 'i' THEN pg_get_indexdef(c.oid)
    ELSE (SELECT string_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod),
            (SELECT collname FROM pg_collation WHERE oid = attcollation),
            CASE WHEN attnotnull THEN 'NOT NULL' END, nullif(attgenerated, ''),
            (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef
                WHERE adrelid = c.oid AND adnum = attnum)), ', ' ORDER BY attnum)
        FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped)
        || (SELECT coalesce(string_agg(
                format(', %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)), ''
                ORDER BY conname COLLATE "C"), '')
            FROM pg_constraint WHERE conrelid = c.oid
                OR (confrelid = c.oid AND c.relname = ANY(:agents)))
    END
FROM pg_class AS c
LEFT JOIN pg_index ON indexrelid = c.oid LEFT JOIN pg_class AS i ON i.oid = indrelid
WHERE c.relnamespace = :namespace AND (c.relname = ANY(:names) OR i.relname = ANY(:agents))
"""
_TEMPORARY: Final = text("SELECT pg_my_temp_schema()")


def refuse_traps(connection: Connection, namespace: int, at: Address) -> None:
    """Raise NotAStoreError if reading the schema could run code, but for views that users add.

    Args:
        connection: its search path must be pg_catalog.
        namespace: the oid of the schema.
        at: the address of the schema.
    """
    fault = connection.scalar(text(_TRAPS), _of(namespace, _TRAPS))
    for name, sql in connection.execute(text(_VIEWS), _of(namespace, _VIEWS)):
        calls = _CALL.findall(_unqualified(sql, at))
        called = {each for each in calls if not each.isupper()} - _FUNCTIONS
        if called and fault is None:
            fault = f"{name} calls {min(called)}"
    if fault is not None:
        raise NotAStoreError(
            f"{at} is not as graphstore writes it: {fault}; reading it could run untrusted code"
        )


def objects(connection: Connection, namespace: int, at: Address) -> dict[str, str]:
    """Return the SQL of the tables and views.

    For the tables of agents, which are written, also that of all indexes and references to them.
    The names of tables are without a schema.
    """
    rows = connection.execute(text(_DEFINITIONS), _of(namespace, _DEFINITIONS))
    return {str(name): _unqualified(sql, at) for name, sql in rows}


def made(connection: Connection, revision: str, at: Address) -> dict[str, str]:
    """Return `objects` as the migrations make them in a schema, up to a revision.

    The migrations make temporary objects, which are rolled back.
    """
    with connection.begin_nested() as savepoint:
        connection.exec_driver_sql("SET LOCAL search_path TO pg_temp")
        create(connection, revision)
        connection.exec_driver_sql("SET LOCAL search_path TO pg_catalog")
        found = objects(connection, connection.scalar(_TEMPORARY), at)
        savepoint.rollback()
    return found


def _unqualified(sql: str, at: Address) -> str:
    """Return SQL without the name of the schema, or of the temporary one, before a point."""
    name = str(at.schema)
    names = "|".join(map(re.escape, ("pg_temp", name, quoted(name))))
    return re.sub(rf'(?<![\w"])({names})\.', "", sql)


def _of(namespace: int, query: str) -> dict[str, Any]:
    values = {**_NAMES, "namespace": namespace}
    return {name: value for name, value in values.items() if f":{name}" in query}
