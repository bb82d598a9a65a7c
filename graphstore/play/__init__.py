"""graphstore/play."""
