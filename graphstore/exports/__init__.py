"""Solved games as files of other programs, and as pictures.

The input is an open `Store`; the output is a file, a folder of files, or text. `exporting` writes a
target all or nothing, `selection` chooses its states. `tables` writes CSV, JSON lines and Parquet,
`graphs` GraphML, GEXF and DOT, `game_formats` the formats of a single game. `drawing` chooses the
states of a picture, `dot` renders it, `learning_curve` plots the results of an agent.
"""
