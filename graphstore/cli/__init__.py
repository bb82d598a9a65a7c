"""The commands, by what they are for: each parses, calls and prints."""
