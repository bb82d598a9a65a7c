"""graphstore/store/folder."""
