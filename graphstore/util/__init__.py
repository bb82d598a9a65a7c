"""Helpers that know nothing of games."""
