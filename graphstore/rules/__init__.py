"""What a game is, and how its positions look.

In come rules: a class, a file, a module, or a game of OpenSpiel. Out goes a `Game`: functions on
whole int64 arrays of positions (`game`), which `plain` supplies for rules that are written for one
position at a time. `loading` and `openspiel` find rules; `symmetry` and `board` know boards and
their images; `svg` and `notebook` show them. Nothing here solves or stores.
"""
