"""A game in parts: explored and solved block by block, in a folder, out of core.

A *part* is the states whose hashed ids fall into one of as many ranges; a *wave* the states of one
ply; a *block* what a part has of a wave. Blocks are worked on one at a time, or several at once by
as many processes on as many machines, by the same steps that `solver.exploration` and
`solver.solution` take with a whole graph. Between them lie files, and nothing else: so memory
is bounded by a block, and work that was interrupted goes on after the last block that was done.
"""
