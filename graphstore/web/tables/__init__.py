"""The pages of tables and of SQL."""
