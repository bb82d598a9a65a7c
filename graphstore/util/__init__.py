"""What Python and numpy lack for arguments, arrays, files, signals and forks; knows no game.

In come arguments, arrays, paths and callbacks; out go checked values, arrays and whole files.
`arguments`: checks of what users pass. `arrays`: distinct values, ragged rows, membership. `files`:
locked drafts, atomic renames. `signals`: Ctrl-C and SIGTERM delayed during steps that must not stop
half-way. `forks`: the process of a connection. `own_process`: limits and end of a DuckDB process.
"""
