"""graphstore/web/tables."""
