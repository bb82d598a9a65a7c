"""Whether all that a database says is so: derived anew from the rules and from itself."""

from graphstore.checks.file.findings import Problem as Problem
from graphstore.checks.file.findings import Verdict as Verdict
from graphstore.checks.file.whole import verify as verify
