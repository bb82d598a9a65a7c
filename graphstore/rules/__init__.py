"""graphstore/rules."""
