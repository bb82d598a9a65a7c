"""Verification of a database: compute its cells again from the rules and from their neighbours."""
