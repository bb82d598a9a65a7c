"""Solved games as files of other programs, and as pictures.

In comes an opened `Store` or a `Folder`; out goes a file, a folder of files, or text. `exporting`
picks the format and replaces its target all or nothing, `selection` says which states are meant.
`tables` writes CSV, JSON lines and Parquet, `graphs` GraphML, GEXF and DOT, `seeds` the formats of
the programs that this one grew from. `drawing` chooses the states of a picture, `dot` renders it,
`learning_curve` plots what an agent has learned.
"""
