"""A solved game at rest, and how it is queried.

In comes an address or rows of columns; out go probes, arrays, SQL answers and graphs. `store` has
`Store`, an opened database; `backend` says what a SQLite file (`sqlite/`) and a PostgreSQL schema
(`postgres/`) can do, with the same module names in each; `folder/` reads Parquet parts.
`schema` has the tables and views; `probe`, `lookup` and `q_table` read them; `bulk` and `columns`
write them. Only `building` and `play.agents` write to a database that others read.
"""
