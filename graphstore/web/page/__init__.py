"""The page of a position."""
