"""Playing on a solved game: players, matches, and learners.

In comes an opened `Store`; out go moves, records of games and trained agents. `players` choose
moves, `match` is one game in play, `menace` has the matchboxes that learn. `training` plays
thousands of games between states (`arena`), `agents` keeps learners in the database, `standings`
lists what they have learned. No input and no output here: the terminal is `cli.terminal`.
"""
