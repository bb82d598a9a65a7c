"""graphstore/store/postgres."""
