"""From rules to a graph, and from the graph to values; arrays in, arrays out, no files.

In comes a `Game`. `exploration` expands it to a `GameGraph` (`graph`), a read-only networkx.DiGraph
on flat arrays (`columns`); `solution` adds the values of all states by backward induction, or by
retrograde analysis where play can cycle. `search` evaluates one position without a graph, and
`estimate` predicts how large a game is. Progress is a callback.
"""
