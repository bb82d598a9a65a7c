"""graphstore/building."""
