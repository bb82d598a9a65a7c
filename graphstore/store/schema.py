"""The tables and views of a solved game in SQLAlchemy; a database holds one game.

`graphstore.store.meanings` describes each column and says for which player it is.
"""

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateView, SchemaItem

from graphstore.store.format import APPLICATION_ID as APPLICATION_ID
from graphstore.store.format import BELOW as BELOW
from graphstore.store.format import BLOCKS as BLOCKS
from graphstore.store.format import BOOK as BOOK
from graphstore.store.format import BY_MARGIN as BY_MARGIN
from graphstore.store.format import COLUMNS as COLUMNS
from graphstore.store.format import EXTENTS as EXTENTS
from graphstore.store.format import LATER as LATER
from graphstore.store.format import READABLE as READABLE
from graphstore.store.format import REVISIONS as REVISIONS
from graphstore.store.format import STRATEGY as STRATEGY
from graphstore.store.format import WHOLE as WHOLE
from graphstore.store.format import WINNER

# STRICT tables in SQLite have only INTEGER, REAL and TEXT.
Big = sa.BigInteger().with_variant(sqlite.INTEGER(), "sqlite")
Small = sa.SmallInteger().with_variant(sqlite.INTEGER(), "sqlite")
Truth = sa.Boolean().with_variant(sqlite.INTEGER(), "sqlite")
Real: sa.Double[float] = sa.Double().with_variant(sqlite.REAL(), "sqlite")
# Compare texts byte by byte, as SQLite does, in any locale of a server.
Words = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

metadata = sa.MetaData(
    naming_convention={
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _table(name: str, *items: SchemaItem, with_rowid: bool = True) -> sa.Table:
    return sa.Table(name, metadata, *items, sqlite_with_rowid=with_rowid, sqlite_strict=True)


state = _table(
    "state",
    sa.Column("id", Big, primary_key=True, autoincrement=False),
    sa.Column("position", Words, nullable=False),
    sa.Column("ply", sa.Integer, nullable=False),
    sa.Column("to_move", Small),
    sa.Column("ended", Truth, nullable=False),
    sa.Column("value", Small, nullable=False),
    sa.Column("remoteness", sa.Integer),
    sa.Column("score", Real, nullable=False),
    sa.Column("win_depth", sa.Integer),
    sa.Column("lose_depth", sa.Integer),
    sa.Column("orbit", Big, nullable=False),
    sa.Column("random_value", Real),
    sa.Column("winner", Small, sa.Computed(WINNER)),
    sa.Column("best_response", Real),
    sa.Column("margin", Small),
    sa.Column("nimber", Small),
    sa.CheckConstraint("ply >= 0", name="ply"),
    sa.CheckConstraint("to_move IN (1, 2)", name="to_move"),
    sa.CheckConstraint("value IN (-1, 0, 1)", name="value"),
    sa.CheckConstraint("remoteness >= 0", name="remoteness"),
    sa.CheckConstraint("score BETWEEN -1 AND 1", name="score"),
    sa.CheckConstraint("orbit >= 1", name="orbit"),
    # Arrays have NaN for NULL, so a column must not contain NaN. SQLite cannot store it.
    sa.CheckConstraint("random_value <> 'NaN'", name="random_value").ddl_if(dialect="postgresql"),
    sa.CheckConstraint("best_response <> 'NaN'", name="best_response").ddl_if(dialect="postgresql"),
)

edge = _table(
    "edge",
    sa.Column("parent", Big, sa.ForeignKey("state.id"), primary_key=True, autoincrement=False),
    sa.Column("move", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("child", Big, sa.ForeignKey("state.id"), nullable=False),
    with_rowid=False,
)
edge_child = sa.Index("ix_edge_child", edge.c.child)

move = _table(
    "move",
    sa.Column("move", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", Words, nullable=False),
)

game = _table(
    "game",
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", Words, nullable=False),
    sa.Column("rules", Words, nullable=False),
    sa.Column("starts", Big, nullable=False),
    sa.Column("states", Big, nullable=False),
    sa.Column("positions", Big, nullable=False),
    sa.Column("moves", Big, nullable=False),
    sa.Column("edges", Big, nullable=False),
    sa.Column("plies", sa.Integer, nullable=False),
    sa.Column("cyclic", Truth, nullable=False),
    sa.Column("start", Words, nullable=False),
    sa.Column("value", Small, nullable=False),
    sa.Column("remoteness", sa.Integer),
    sa.Column("built_at", Words, nullable=False),
    sa.Column("built_with", Words, nullable=False),
    sa.Column("build_seconds", Real, nullable=False),
    sa.Column("digest", Words, nullable=False),
    sa.Column("extent", Words, nullable=False, server_default=WHOLE),
    sa.CheckConstraint("id = 1", name="one_row"),
)

digest = _table(
    "digest",
    sa.Column("name", Words, primary_key=True),
    sa.Column("blake2b", Words, nullable=False),
)

agent = _table(
    "agent",
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", Words, nullable=False),
    sa.Column("side", Small, nullable=False),
    sa.Column("stages", Words, nullable=False),
    sa.Column("win", sa.Integer, nullable=False),
    sa.Column("draw", sa.Integer, nullable=False),
    sa.Column("loss", sa.Integer, nullable=False),
    sa.Column("empty", Words, nullable=False),
    sa.Column("longest", sa.Integer, nullable=False),
    sa.Column("seed", Big, nullable=False),
    sa.Column("games", Big, nullable=False),
    sa.Column("random", Words, nullable=False),
    sa.UniqueConstraint("name", name="uq_agent_name"),
    sa.CheckConstraint("side IN (0, 1, 2)", name="side"),
    sa.CheckConstraint("games >= 0", name="games"),
)

bead = _table(
    "bead",
    sa.Column(
        "agent", sa.Integer, sa.ForeignKey("agent.id"), primary_key=True, autoincrement=False
    ),
    sa.Column("state", Big, primary_key=True, autoincrement=False),
    sa.Column("move", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("beads", sa.Integer, nullable=False),
    sa.ForeignKeyConstraint(["state", "move"], ["edge.parent", "edge.move"], name="fk_bead_edge"),
    sa.CheckConstraint("beads >= 0", name="beads"),
    with_rowid=False,
)

played = _table(
    "played",
    sa.Column(
        "agent", sa.Integer, sa.ForeignKey("agent.id"), primary_key=True, autoincrement=False
    ),
    sa.Column("number", Big, primary_key=True, autoincrement=False),
    sa.Column("side", Small, primary_key=True, autoincrement=False),
    sa.Column("opponent", Words, primary_key=True),
    sa.Column("winner", Small, primary_key=True, autoincrement=False),
    sa.Column("plies", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("games", Big, nullable=False),
    sa.CheckConstraint("side IN (0, 1, 2)", name="side"),
    sa.CheckConstraint("winner IN (0, 1, 2)", name="winner"),
    sa.CheckConstraint("plies >= 0", name="plies"),
    sa.CheckConstraint("games >= 1", name="games"),
    with_rowid=False,
)

checkpoint = _table(
    "checkpoint",
    sa.Column(
        "agent", sa.Integer, sa.ForeignKey("agent.id"), primary_key=True, autoincrement=False
    ),
    sa.Column("games", Big, primary_key=True, autoincrement=False),
    sa.Column("kept", sa.Integer, nullable=False),
    sa.Column("boxes", sa.Integer, nullable=False),
    with_rowid=False,
)

AGENT_TABLES: Final = (agent, bead, played, checkpoint)


def keeps(parent: sa.FromClause, child: sa.FromClause) -> sa.ColumnElement[bool]:
    """Return the condition that a move keeps the turn; its ends are rows of `state`."""
    return parent.c.to_move == child.c.to_move


def worth(parent: sa.FromClause, child: sa.FromClause, column: str) -> sa.ColumnElement[Any]:
    """Return `value`, `margin` or `random_value` of a child for the player who moves."""
    cell = child.c[column]
    is_real = column == "random_value"
    other = sa.literal_column("0", Real) - cell if is_real else -cell  # never -0.0
    return sa.case((keeps(parent, child), cell), else_=other)


def moves() -> sa.Select[tuple[object, ...]]:
    """Return a query of all moves, with columns of the child for the player who moves.

    If that player is to move again, `score` is negated, and the depths change places.
    """
    parent, child = state.alias("parent"), state.alias("child")
    kept, c, zero = keeps(parent, child), child.c, sa.literal_column("0", Real)
    return (
        sa.select(
            edge.c.parent.label("state"),
            edge.c.move,
            edge.c.child,
            worth(parent, child, "value").label("optimal"),
            sa.case((kept, zero - c.score), else_=c.score).label("score"),
            sa.case((kept, c.lose_depth), else_=c.win_depth).label("win_depth"),
            sa.case((kept, c.win_depth), else_=c.lose_depth).label("lose_depth"),
            c.remoteness,
        )
        .join(parent, parent.c.id == edge.c.parent)
        .join(child, child.c.id == edge.c.child)
    )


def _best_move() -> sa.Select[tuple[object, ...]]:
    moved = moves().subquery("moved")
    soon = sa.func.coalesce(moved.c.optimal * moved.c.remoteness, 0)  # NULL in an endless draw
    order = (moved.c.score.desc(), soon, moved.c.win_depth, moved.c.lose_depth.desc())
    rank = sa.func.rank().over(partition_by=moved.c.state, order_by=order).label("rank")
    shown = [each for each in moved.c if each.name not in ("optimal", "remoteness")]
    ranked = sa.select(*shown, rank).subquery("ranked")
    return sa.select(*(each for each in ranked.c if each.name != "rank")).where(ranked.c.rank == 1)


def _best_move_by_margin() -> sa.Select[tuple[object, ...]]:
    parent, child = state.alias("parent"), state.alias("child")
    margin = worth(parent, child, "margin")
    ranked = (
        sa.select(
            edge.c.parent.label("state"),
            edge.c.move,
            edge.c.child,
            margin.label("margin"),
            sa.func.rank().over(partition_by=edge.c.parent, order_by=margin.desc()).label("rank"),
        )
        .join(parent, parent.c.id == edge.c.parent)
        .join(child, child.c.id == edge.c.child)
        .where(child.c.margin.is_not(None))
        .subquery("ranked")
    )
    return sa.select(*(each for each in ranked.c if each.name != "rank")).where(ranked.c.rank == 1)


def _q_table() -> sa.Select[tuple[object, ...]]:
    parent, child = state.alias("parent"), state.alias("child")
    return (
        sa.select(
            edge.c.parent.label("state"),
            parent.c.position,
            edge.c.move,
            edge.c.child,
            worth(parent, child, "value").label("optimal"),
            worth(parent, child, "random_value").label("random"),
            sa.case((keeps(parent, child), sa.null()), else_=child.c.best_response).label(
                "best_response"
            ),
            child.c.winner,
            parent.c.orbit,
        )
        .join(parent, parent.c.id == edge.c.parent)
        .join(child, child.c.id == edge.c.child)
    )


def _census() -> sa.Select[tuple[object, ...]]:
    won_by = [
        sa.func.count()
        .filter(sa.and_(state.c.ended, state.c.winner == player))
        .label(f"won_by_{player}")
        for player in (1, 2)
    ]
    return (
        sa.select(
            state.c.ply,
            sa.func.count().label("states"),
            sa.cast(sa.func.sum(state.c.orbit), Big).label("positions"),
            sa.func.count().filter(state.c.ended).label("ended"),
            *won_by,
            sa.func.count().filter(sa.and_(state.c.ended, state.c.value == 0)).label("tied"),
            sa.func.count().filter(state.c.value == 1).label("wins"),
            sa.func.count().filter(state.c.value == 0).label("draws"),
            sa.func.count().filter(state.c.value == -1).label("losses"),
        )
        .group_by(state.c.ply)
        .order_by(state.c.ply)
    )


def _matchbox() -> sa.Select[tuple[object, ...]]:
    parent, child = state.alias("parent"), state.alias("child")
    box = (agent.c.name, bead.c.state)  # columns of the view, so that SQLite can filter by them
    total = sa.func.sum(bead.c.beads).over(partition_by=box)
    most = sa.func.max(bead.c.beads).over(partition_by=box)
    return (
        sa.select(
            agent.c.name.label("agent"),
            bead.c.state,
            parent.c.position,
            parent.c.ply,
            bead.c.move,
            edge.c.child,
            bead.c.beads,
            (sa.cast(bead.c.beads, Real) / sa.func.nullif(total, 0)).label("chance"),
            sa.case((sa.and_(bead.c.beads > 0, bead.c.beads == most), 1), else_=0).label(
                "favourite"
            ),
            sa.case((worth(parent, child, "value") == parent.c.value, 1), else_=0).label("keeps"),
            worth(parent, child, "value").label("optimal"),
        )
        .join(agent, agent.c.id == bead.c.agent)
        .join(edge, sa.and_(edge.c.parent == bead.c.state, edge.c.move == bead.c.move))
        .join(parent, parent.c.id == bead.c.state)
        .join(child, child.c.id == edge.c.child)
    )


VIEWS: Final[dict[str, sa.Select[tuple[object, ...]]]] = {
    "best_move": _best_move(),
    BY_MARGIN: _best_move_by_margin(),
    "q_table": _q_table(),
    "census": _census(),
    "matchbox": _matchbox(),
}

STORED: Final = {
    "state": tuple(column for column in state.c if column.computed is None),
    "edge": tuple(edge.c),
}
"""The columns of state and edge, by table, without those that the database computes."""

_CELLS: Final = {
    sa.BigInteger: "int64",
    sa.Integer: "int32",
    sa.SmallInteger: "int8",
    sa.Boolean: "bool",
    sa.Double: "float64",
    sa.Text: "string",
}


def cell_type(column: sa.ColumnElement[Any]) -> str:
    """Return the name of the narrowest numpy and Arrow type for the cells of a column."""
    return "int16" if column.name in LATER else _CELLS[type(column.type)]


OBJECTS: Final = (*metadata.tables, str(edge_child.name), *VIEWS, "alembic_version")
"""The names of all objects that graphstore creates in a database."""


def create_views(connection: sa.Connection, revision: str = REVISIONS[-1]) -> None:
    """Replace the views; the last step of every upgrade."""
    for name, query in VIEWS.items():
        if name == BY_MARGIN and revision < "0006":
            continue
        connection.execute(sa.text(f"DROP VIEW IF EXISTS {name}"))
        connection.execute(CreateView(query, name))


def written(query: sa.ClauseElement, dialect: str) -> str:
    """Return a query as SQL text of sqlite or postgresql, with its parameters filled in."""
    kind: Any = {"sqlite": sqlite, "postgresql": postgresql}[dialect]
    return str(query.compile(dialect=kind.dialect(), compile_kwargs={"literal_binds": True}))
