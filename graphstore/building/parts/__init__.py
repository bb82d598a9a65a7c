"""Explore and solve a game block by block, out of core, in a folder of files.

A *wave* is the states of one ply. A *part* is the states whose hashed ids fall into one of several
ranges. A *block* is one part of one wave. A step explores or solves one block, with the algorithms
of `solver.exploration` and `solver.solution`; several processes, also on several machines, can work
on blocks at the same time. Steps exchange data only through files: so memory is bounded by a block,
and interrupted work resumes after the last complete block.
"""
