"""What numpy, signals, forks and files lack: helpers that know nothing of games.

In: arrays, paths, signals, processes. Out: the same, with a guarantee that their libraries do not
give: distinct values and ragged rows of arrays, signals that wait until a step is done, connections
that belong to one process, files that appear complete or not at all.

Modules here import each other, `graphstore.errors` and other packages, and nothing else.
"""
