"""Whether rules, databases and proofs are right, and whether two databases agree.

In comes a `Store`, rules or two databases; out comes a list of problems, each with its place.
`laws` tests a rule set position by position. `file/` derives all cells of a database again, whole
or for a sample, by code of its own and not by the solver. `proof` checks the strategy for ultimate
tic-tac-toe by rules of its own. `compare` says whether two databases hold the same game, and lists
the rows that differ. Nothing is repaired.
"""

from graphstore.checks.file.findings import Problem as Problem
from graphstore.checks.file.findings import Verdict as Verdict
from graphstore.checks.file.verifier import verify as verify
