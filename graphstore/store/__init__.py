"""graphstore/store."""
