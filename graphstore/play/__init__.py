"""Players, matches and agents that learn, on a solved game.

The input is an open `Store`; the output is moves, records of matches and trained agents. `players`
choose moves, `opponents` reads their names, `match` is one game in progress. `menace` has the
matchboxes of an agent, `arena` the graph as flat lists, `training` plays thousands of games on it.
`agents` stores agents in the database, `standings` lists their results.
"""
