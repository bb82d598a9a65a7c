"""graphstore/games/ultimate."""
