"""What numpy, signal handling, forks and file systems lack; nothing here knows a game.

In come arrays, paths and callbacks; out go the same, changed. `arrays`: distinct values, ragged
rows, membership. `files`: locked drafts, atomic renames, folders synced to the disk. `signals`:
Ctrl-C and SIGTERM delayed during steps that must not stop half-way. `forks`: which process a
connection belongs to. `own_process`: limits and the end of a process that runs DuckDB.
"""
