"""Verification of a database: compare its cells with the rules and with their neighbours."""
