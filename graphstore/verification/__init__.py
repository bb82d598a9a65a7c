"""Whether all that a database says is so: derived anew from the rules and from itself."""

from graphstore.verification.findings import Problem as Problem
from graphstore.verification.findings import Verdict as Verdict
from graphstore.verification.whole import verify as verify
