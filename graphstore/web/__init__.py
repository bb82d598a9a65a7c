"""The explorer: solved games in Datasette, with a page for every position.

In come addresses of databases and requests; out go pages. `server` and `application` start it,
`hooks` are what Datasette calls. `page/` is the page of a position, with its pictures, its parents
and the opponent; `tables/` the pages of tables and of SQL, which only read. `addresses` reads and
writes links, `index` is the list of games, `failures` the error pages, `caching` the headers.
"""

import sqlite3
from contextlib import closing

from datasette import utils

# Datasette would open a connection for each of these, again and again, and close none.
with closing(sqlite3.connect(":memory:")) as _connection:
    _has_json = utils.detect_json1(_connection)
utils.detect_json1 = lambda _connection=None: _has_json
utils.sqlite._cached_sqlite_version = sqlite3.sqlite_version_info
