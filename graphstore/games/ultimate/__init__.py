"""Ultimate tic-tac-toe: rules, texts, records and a search."""
