"""graphstore/web/page."""
