"""A graph as tables: the rows of the database, as columns for pandas and polars."""

import numpy as np
import pandas
import polars
import pytest
from conftest import Nasty, TableGame, check_all, some_of

from graphstore import Store, build, explore, find_game, solve
from graphstore.errors import ArgumentError
from graphstore.games import FAMILIES
from graphstore.store.schema import COLUMNS

LARGE = ("mnk(4,4,4)", "connect(4,4)")
GAMES = [find_game(name) for family in FAMILIES for name in family.examples if name not in LARGE]
CYCLE = TableGame({1: {0: 2, 3: 2, 9: 2**62}, 2: {-1: 1}, 2**62: 0}, 2)


def rows(table):
    """Return the rows of a table, with None for NaN."""
    columns = [
        [None if cell != cell else cell for cell in each.tolist()] for each in table.values()
    ]
    return [*zip(*columns, strict=True)]


def test_a_table_has_the_rows_and_columns_of_the_database(tmp_path):
    def law(game):
        path = tmp_path / "game.db"
        build(game, path, force=True)
        graph = explore(game)
        solve(graph)
        with Store.open(path, rules=game) as store:
            for table, order in (("state", "id"), ("edge", "parent, move")):
                found = graph.to_table(table)
                assert [*found] == COLUMNS[table]
                assert rows(found) == list(store.sql(f"SELECT * FROM {table} ORDER BY {order}"))
                for name, column in store.graph().to_table(table).items():
                    assert column.dtype == found[name].dtype
                    assert np.array_equal(column, found[name], equal_nan=column.dtype.kind == "f")

    check_all([CYCLE, Nasty(), *some_of(GAMES, 4)], law)


def test_a_table_is_a_data_frame_of_pandas_and_of_polars(tictactoe):
    for table in ("state", "edge"):
        columns = tictactoe.to_table(table)
        frame = pandas.DataFrame(columns)
        assert rows({name: frame[name].to_numpy() for name in frame}) == rows(columns)
        nulls = polars.DataFrame(columns, nan_to_null=True)
        assert nulls.rows() == rows(columns)
        assert nulls.null_count().row(0) == tuple(frame.isna().sum())


def test_without_a_solution_its_columns_are_missing():
    graph = explore(find_game("tictactoe"))
    assert [*graph.to_table()] == ["id", "position", "ply", "to_move", "ended", "orbit"]


@pytest.mark.parametrize("table", ["states", "", None, 3])
def test_a_wrong_name_of_a_table_is_named(tictactoe, table):
    with pytest.raises(ArgumentError, match="it must be 'state' or 'edge'"):
        tictactoe.to_table(table)
