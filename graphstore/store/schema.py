"""The tables and views of a solved game in SQLAlchemy; a database holds one game.

`graphstore.store.meanings` says what each column means, and for which player.
"""

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ColumnElement,
    Computed,
    Connection,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    Select,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    and_,
    case,
    cast,
    column,
    func,
    literal_column,
    select,
    table,
    text,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateView

APPLICATION_ID: Final = 0x67726673  # "grfs", at offset 68 of the header of a SQLite file
REVISIONS: Final = ("0001", "0002", "0003", "0004")
"""The alembic revisions, oldest first; a database is current at the last one."""

WHOLE: Final = "whole"
BELOW: Final = "below"
STRATEGY: Final = "strategy"
"""What `game.extent` says is in a file: all that play from the game's starts can reach; that from
some positions, which have ply 0; or one move of player 1 and all of player 2, so that values
hold, and depths are bounds, under that strategy."""
EXTENTS: Final = (WHOLE, BELOW, STRATEGY)

# STRICT tables in SQLite know INTEGER, REAL and TEXT only.
Big = BigInteger().with_variant(sqlite.INTEGER(), "sqlite")
Small = SmallInteger().with_variant(sqlite.INTEGER(), "sqlite")
Truth = Boolean().with_variant(sqlite.INTEGER(), "sqlite")
Real: Double[float] = Double().with_variant(sqlite.REAL(), "sqlite")
# Texts are compared byte by byte, as SQLite does, whatever the language of a server.
Words = Text().with_variant(Text(collation="C"), "postgresql")

metadata = MetaData(
    naming_convention={
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

state = Table(
    "state",
    metadata,
    Column("id", Big, primary_key=True, autoincrement=False),
    Column("position", Words, nullable=False),
    Column("ply", Integer, nullable=False),
    Column("to_move", Small),
    Column("ended", Truth, nullable=False),
    Column("value", Small, nullable=False),
    Column("remoteness", Integer),
    Column("score", Real, nullable=False),
    Column("win_depth", Integer),
    Column("lose_depth", Integer),
    Column("orbit", Big, nullable=False),
    Column("random_value", Real),
    Column(
        "winner",
        Small,
        Computed(
            "CASE WHEN to_move IS NULL THEN NULL WHEN value = 0 THEN 0 "
            "WHEN value = 1 THEN to_move ELSE 3 - to_move END"
        ),
    ),
    Column("best_response", Real),
    CheckConstraint("ply >= 0", name="ply"),
    CheckConstraint("to_move IN (1, 2)", name="to_move"),
    CheckConstraint("value IN (-1, 0, 1)", name="value"),
    CheckConstraint("remoteness >= 0", name="remoteness"),
    CheckConstraint("score BETWEEN -1 AND 1", name="score"),
    CheckConstraint("orbit >= 1", name="orbit"),
    # SQLite has no NaN, which stands for NULL among the numbers of a column.
    CheckConstraint("random_value <> 'NaN'", name="random_value").ddl_if(dialect="postgresql"),
    CheckConstraint("best_response <> 'NaN'", name="best_response").ddl_if(dialect="postgresql"),
    sqlite_strict=True,
)

edge = Table(
    "edge",
    metadata,
    Column("parent", Big, ForeignKey("state.id"), primary_key=True, autoincrement=False),
    Column("move", Integer, primary_key=True, autoincrement=False),
    Column("child", Big, ForeignKey("state.id"), nullable=False),
    sqlite_with_rowid=False,
    sqlite_strict=True,
)
edge_child = Index("ix_edge_child", edge.c.child)

game = Table(
    "game",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("name", Words, nullable=False),
    Column("rules", Words, nullable=False),
    Column("starts", Big, nullable=False),
    Column("states", Big, nullable=False),
    Column("positions", Big, nullable=False),
    Column("moves", Big, nullable=False),
    Column("edges", Big, nullable=False),
    Column("plies", Integer, nullable=False),
    Column("cyclic", Truth, nullable=False),
    Column("start", Words, nullable=False),
    Column("value", Small, nullable=False),
    Column("remoteness", Integer),
    Column("built_at", Words, nullable=False),
    Column("built_with", Words, nullable=False),
    Column("build_seconds", Real, nullable=False),
    Column("digest", Words, nullable=False),
    Column("extent", Words, nullable=False, server_default=WHOLE),
    CheckConstraint("id = 1", name="one_row"),
    sqlite_strict=True,
)

digest = Table(
    "digest",
    metadata,
    Column("name", Words, primary_key=True),
    Column("blake2b", Words, nullable=False),
    sqlite_strict=True,
)

agent = Table(
    "agent",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("name", Words, nullable=False),
    Column("side", Small, nullable=False),
    Column("stages", Words, nullable=False),
    Column("win", Integer, nullable=False),
    Column("draw", Integer, nullable=False),
    Column("loss", Integer, nullable=False),
    Column("empty", Words, nullable=False),
    Column("longest", Integer, nullable=False),
    Column("seed", Big, nullable=False),
    Column("games", Big, nullable=False),
    Column("random", Words, nullable=False),
    UniqueConstraint("name", name="uq_agent_name"),
    CheckConstraint("side IN (0, 1, 2)", name="side"),
    CheckConstraint("games >= 0", name="games"),
    sqlite_strict=True,
)

bead = Table(
    "bead",
    metadata,
    Column("agent", Integer, ForeignKey("agent.id"), primary_key=True, autoincrement=False),
    Column("state", Big, primary_key=True, autoincrement=False),
    Column("move", Integer, primary_key=True, autoincrement=False),
    Column("beads", Integer, nullable=False),
    ForeignKeyConstraint(["state", "move"], ["edge.parent", "edge.move"], name="fk_bead_edge"),
    CheckConstraint("beads >= 0", name="beads"),
    sqlite_with_rowid=False,
    sqlite_strict=True,
)

played = Table(
    "played",
    metadata,
    Column("agent", Integer, ForeignKey("agent.id"), primary_key=True, autoincrement=False),
    Column("number", Big, primary_key=True, autoincrement=False),
    Column("side", Small, nullable=False),
    Column("opponent", Words, nullable=False),
    Column("winner", Small, nullable=False),
    Column("plies", Integer, nullable=False),
    CheckConstraint("side IN (0, 1, 2)", name="side"),
    CheckConstraint("winner IN (0, 1, 2)", name="winner"),
    CheckConstraint("plies >= 0", name="plies"),
    sqlite_with_rowid=False,
    sqlite_strict=True,
)

checkpoint = Table(
    "checkpoint",
    metadata,
    Column("agent", Integer, ForeignKey("agent.id"), primary_key=True, autoincrement=False),
    Column("games", Big, primary_key=True, autoincrement=False),
    Column("kept", Integer, nullable=False),
    Column("boxes", Integer, nullable=False),
    sqlite_with_rowid=False,
    sqlite_strict=True,
)

AGENT_TABLES: Final = (agent, bead, played, checkpoint)


def _best_move() -> Select[tuple[object, ...]]:
    ranked = (
        select(
            edge.c.parent.label("state"),
            edge.c.move,
            edge.c.child,
            state.c.score,
            state.c.win_depth,
            state.c.lose_depth,
            func.rank()
            .over(
                partition_by=edge.c.parent,
                order_by=(state.c.score.desc(), state.c.win_depth, state.c.lose_depth.desc()),
            )
            .label("rank"),
        )
        .join(state, state.c.id == edge.c.child)
        .subquery("ranked")
    )
    return select(*(each for each in ranked.c if each.name != "rank")).where(ranked.c.rank == 1)


def _q_table() -> Select[tuple[object, ...]]:
    parent, child = state.alias("parent"), state.alias("child")
    return (
        select(
            edge.c.parent.label("state"),
            parent.c.position,
            edge.c.move,
            edge.c.child,
            (-child.c.value).label("optimal"),
            (literal_column("0", Real) - child.c.random_value).label("random"),  # never -0.0
            child.c.best_response,
            child.c.winner,
            parent.c.orbit,
        )
        .join(parent, parent.c.id == edge.c.parent)
        .join(child, child.c.id == edge.c.child)
    )


def _census() -> Select[tuple[object, ...]]:
    won_by = [
        func.count().filter(and_(state.c.ended, state.c.winner == player)).label(f"won_by_{player}")
        for player in (1, 2)
    ]
    return (
        select(
            state.c.ply,
            func.count().label("states"),
            cast(func.sum(state.c.orbit), Big).label("positions"),
            func.count().filter(state.c.ended).label("ended"),
            *won_by,
            func.count().filter(and_(state.c.ended, state.c.value == 0)).label("tied"),
            func.count().filter(state.c.value == 1).label("wins"),
            func.count().filter(state.c.value == 0).label("draws"),
            func.count().filter(state.c.value == -1).label("losses"),
        )
        .group_by(state.c.ply)
        .order_by(state.c.ply)
    )


def _matchbox() -> Select[tuple[object, ...]]:
    parent, child = state.alias("parent"), state.alias("child")
    box = (agent.c.name, bead.c.state)  # columns of the view, by which SQLite can then narrow it
    total = func.sum(bead.c.beads).over(partition_by=box)
    most = func.max(bead.c.beads).over(partition_by=box)
    return (
        select(
            agent.c.name.label("agent"),
            bead.c.state,
            parent.c.position,
            parent.c.ply,
            bead.c.move,
            edge.c.child,
            bead.c.beads,
            (cast(bead.c.beads, Real) / func.nullif(total, 0)).label("chance"),
            case((and_(bead.c.beads > 0, bead.c.beads == most), 1), else_=0).label("favourite"),
            case((-child.c.value == parent.c.value, 1), else_=0).label("keeps"),
            (-child.c.value).label("optimal"),
        )
        .join(agent, agent.c.id == bead.c.agent)
        .join(edge, and_(edge.c.parent == bead.c.state, edge.c.move == bead.c.move))
        .join(parent, parent.c.id == bead.c.state)
        .join(child, child.c.id == edge.c.child)
    )


VIEWS: Final[dict[str, Select[tuple[object, ...]]]] = {
    "best_move": _best_move(),
    "q_table": _q_table(),
    "census": _census(),
    "matchbox": _matchbox(),
}

COLUMNS: Final = {
    **{name: of.c.keys() for name, of in metadata.tables.items()},
    **{name: view.selected_columns.keys() for name, view in VIEWS.items()},
}
"""The names of the columns of each table and view, in their order."""

STORED: Final = {
    "state": tuple(column for column in state.c if column.computed is None),
    "edge": tuple(edge.c),
}
"""The columns of the graph that are not computed from others, by table."""

CELLS: Final = {
    BigInteger: "int64",
    Integer: "int32",
    SmallInteger: "int8",
    Boolean: "bool",
    Double: "float64",
    Text: "string",
}
"""The narrowest type of numpy or Arrow that holds the cells of a column, by the column's type."""


def cell_type(column: ColumnElement[Any]) -> str:
    """Return the narrowest type of numpy or Arrow that holds the cells of a column."""
    return CELLS[type(column.type)]


OBJECTS: Final = (*metadata.tables, str(edge_child.name), *VIEWS, "alembic_version")
"""The names of all that a database is made of; what others add to it is theirs."""


_MADE = """
SELECT c.relname, CASE c.relkind
    WHEN 'v' THEN pg_get_viewdef(c.oid)
    WHEN 'i' THEN replace(pg_get_indexdef(c.oid), format(' %I.', n.nspname), ' ')
    ELSE (SELECT string_agg(concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod),
            (SELECT collname FROM pg_collation WHERE oid = a.attcollation),
            CASE WHEN a.attnotnull THEN 'NOT NULL' END, nullif(a.attgenerated, ''),
            (SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef AS d
                WHERE d.adrelid = c.oid AND d.adnum = a.attnum)), ', ' ORDER BY a.attnum)
        FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)
        || (SELECT coalesce(string_agg(format(', %s %s', conname, pg_get_constraintdef(oid)), ''
            ORDER BY conname COLLATE "C"), '') FROM pg_constraint WHERE conrelid = c.oid)
    END
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema() AND c.relname = ANY(:names)
"""


def objects(connection: Connection) -> dict[str, str]:
    """Return the SQL that made the tables, the index and the views that are there, by name.

    PostgreSQL does not keep it, but tells all that it made of it.
    """
    if connection.dialect.name == "postgresql":
        rows = connection.execute(text(_MADE), {"names": list(OBJECTS)})
        return {str(name): str(made) for name, made in rows}
    master = table("sqlite_master", column("name"), column("sql"))
    rows = connection.execute(select(master).where(master.c.name.in_(OBJECTS)))
    return {str(name): str(sql) for name, sql in rows}


def create_views(connection: Connection) -> None:
    """Replace the views by those above: they hold no data, so every upgrade ends with this."""
    for name, query in VIEWS.items():
        connection.execute(text(f"DROP VIEW IF EXISTS {name}"))
        connection.execute(CreateView(query, name))
