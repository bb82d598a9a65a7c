"""The command line.

Rows go to standard output, messages and progress to standard error. `main` lists the commands and
turns errors into exit codes. The commands are in `building`, `queries`, `checking`, `exporting`,
`drawing`, `playing` and `serving`. `options` has the options and messages that they share,
`console` prints tables, JSON and boards, `terminal` runs a match with a user.
"""
