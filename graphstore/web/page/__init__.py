"""The page of a position: its values, its pictures, its parents, and play on it."""
