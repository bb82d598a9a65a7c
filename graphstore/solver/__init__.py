"""graphstore/solver."""
