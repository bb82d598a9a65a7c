"""Playing on a solved game: players, matches, and learners.

`players` choose moves, `opponents` reads their names, `match` is one game in play. `menace` has the
matchboxes of a learner, `arena` a game as lists, `training` plays thousands of games there.
`agents` keeps learners in the database, `standings` lists what they have learned.
"""
