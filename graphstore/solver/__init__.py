"""From rules to a graph, and from the graph to values: arrays in, arrays out, no files.

Input: a `Game`. Output: a `GameGraph` and its `Solution`. `exploration` expands the game to a
`GameGraph` (`graph`), a read-only networkx.DiGraph on flat arrays (`columns`). `solution` computes
the values of all states by backward induction, or by retrograde analysis if play can cycle.
`search` evaluates one position, and `estimate` predicts the size of a game. Progress is a callback.
"""
