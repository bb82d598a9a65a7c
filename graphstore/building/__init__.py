"""Explore, solve and save a game: a database, or a folder of Parquet parts.

In come rules and a target; out comes a complete file, schema or folder, or no change at all.
`in_memory` builds with the whole graph in memory, `out_of_core` block by block with `parts/`,
`from_folder` loads a folder into a database, and `strategy` builds the proof for ultimate
tic-tac-toe. All of them write through `saving`, the only writer of a new game, which keeps the
trained agents of the game that it replaces (`kept_agents`).
"""
