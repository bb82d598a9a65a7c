"""The browser explorer: solved games in Datasette, with a page for every position."""
