"""Ultimate tic-tac-toe: its rules, texts and records, and rules for a fast search."""
