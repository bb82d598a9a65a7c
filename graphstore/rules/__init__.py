"""Rules of games, and pictures of their positions; nothing here solves or stores.

Input: rules as a class, a file, a module or a game of OpenSpiel. Output: a `Game` (`game`), which
has functions on int64 arrays of positions. `plain` is the base of rules for one position at a time,
which `adapter` makes a `Game`; `values` writes and reads their positions. `loading` and `openspiel`
load rules, `sources` identifies them. `positions` reads what users write for a position. `symmetry`
and `board` handle boards and their images; `svg` and `notebook` draw them.
"""
