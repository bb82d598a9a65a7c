"""What a game is, and how its rules are found and its positions look."""
