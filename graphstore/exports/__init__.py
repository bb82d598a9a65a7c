"""graphstore/exports."""
