"""Playing on a solved game: players, matches, and learners.

In comes an opened `Store`; out go moves, records of games and trained agents. `players` choose
moves, `opponents` reads their names, `match` is one game in play. `menace` has the matchboxes of a
learner, `arena` a game as lists, `training` plays thousands of games there. `agents` keeps learners
in the database, `standings` lists what they have learned. The terminal is `cli.terminal`.
"""
