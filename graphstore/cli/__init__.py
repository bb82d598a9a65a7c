"""The command line: parse, call, print.

In come words and options; rows go to standard output, messages and progress to standard error.
`main` lists the commands and turns an error into one line and an exit code. A module a group of
commands: `building`, `asking`, `checking`, `exporting`, `drawing`, `playing`, `serving`. `options`
has what they share, `console` prints tables, JSON and boards, `terminal` plays at the keyboard.
"""
