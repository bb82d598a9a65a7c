"""The explorer: solved games in Datasette, with a page for every position.

In come addresses of databases and requests; out go pages. `server` and `application` start it,
`hooks` are what Datasette calls. `page/` is the page of a position, with its pictures, its parents
and the opponent; `tables/` the pages of tables and of SQL, which only read. `addresses` reads and
writes links, `index` is the list of games, `failures` the error pages, `caching` the headers.
"""
