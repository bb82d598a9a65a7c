"""Verify a database: derive again what it says, from the rules and from its own rows."""

from graphstore.checks.file.findings import Problem as Problem
from graphstore.checks.file.findings import Verdict as Verdict
from graphstore.checks.file.verifier import verify as verify
