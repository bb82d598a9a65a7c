"""graphstore/util."""
