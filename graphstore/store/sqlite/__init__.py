"""graphstore/store/sqlite."""
