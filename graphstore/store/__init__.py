"""Solved games in databases and Parquet folders, and queries on them.

Input: an address, or columns of rows. Output: probes, arrays, SQL answers and graphs. `store` has
`Store`, an opened database; `backend` is the protocol of a SQLite file (`sqlite/`) and a PostgreSQL
schema (`postgres/`), which have the same module names; `folder/` reads Parquet parts. `format` has
the names of tables and columns, `schema` defines them and the views in SQLAlchemy, and `structure`
finds those that were altered; `reader` reads them through the driver, for `probe` and `lookup`;
`bulk` and `columns` write them. Only `building` and `play.agents` write to a database that other
programs read.
"""
