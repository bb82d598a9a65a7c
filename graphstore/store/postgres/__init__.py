"""A solved game in a schema of a PostgreSQL database."""
