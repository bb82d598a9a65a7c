"""Verify a database: derive every cell again, from the rules and from its neighbours."""
