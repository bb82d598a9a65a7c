"""A game in parts: built out of core, in a folder of Parquet files."""
