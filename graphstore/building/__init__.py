"""Build a game: explore and solve it, and save it as a database or as a folder of Parquet files.

The input is rules and a target; the output is a complete file, schema or folder, or an error and no
change. `in_memory` holds the whole graph in memory, `out_of_core` works block by block (`parts/`),
`from_folder` loads a folder into a database, and `strategy` builds the proof for ultimate
tic-tac-toe. All databases are written by `saving`, which keeps the trained agents of the game that
it replaces (`kept_agents`).
"""
