"""Checks of rules, databases and proofs, and the comparison of two databases.

The input is rules, a `Store` or two; the output is a list of problems, each with its place. `laws`
tests a rule set position by position. `file/` compares the cells of a database with the rules and
with each other, all or for a sample, without the code of the solver. `proof` checks the strategy
for ultimate tic-tac-toe with its own rules. `compare` lists the rows that differ between two
databases. Nothing is repaired.
"""

from graphstore.checks.file.findings import Problem as Problem
from graphstore.checks.file.findings import Verdict as Verdict
from graphstore.checks.file.verifier import verify as verify
