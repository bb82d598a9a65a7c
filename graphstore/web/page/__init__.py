"""The page of a position: its values, pictures and parents, and play against an opponent."""
