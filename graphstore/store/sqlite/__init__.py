"""A solved game in a SQLite file."""
