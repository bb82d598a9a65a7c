"""Helpers for arguments, arrays, files, signals and processes; nothing here depends on games.

Input: arguments, arrays, paths, callbacks. Output: checked values, arrays, complete files.
`arguments`: checks of arguments of public functions. `arrays`: distinct values, ragged rows,
membership. `files`: locked drafts, atomic renames. `signals`: delay of Ctrl-C and SIGTERM. `forks`:
connections that a forked child must not use. `own_process`: memory limit and exit of a command.
`memory`: memory of the machine and of this process. `extras`: imports of optional packages.
`output`: a standard output that keeps what rules print out of data.
"""
