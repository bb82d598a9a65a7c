"""A solved game in a folder of Parquet files, by wave and part."""
