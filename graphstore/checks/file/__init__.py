"""graphstore/checks/file."""
