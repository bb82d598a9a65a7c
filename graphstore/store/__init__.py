"""The database of a solved game, and queries of it.

An address or rows of columns come in; probes, arrays, SQL answers and graphs go out. `store` has
`Store`, an opened database; `backend` is the protocol of a SQLite file (`sqlite/`) and a PostgreSQL
schema (`postgres/`), which have the same module names; `folder/` reads Parquet parts. `schema` has
the tables and views; `probe`, `lookup` and `q_table` read them; `bulk` and `columns` write them.
Only `building` and `play.agents` write to a database that others read.
"""
