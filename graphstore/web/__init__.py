"""The explorer: solved games in Datasette, with a page for every position.

Input: addresses of databases, and requests. Output: pages. `server` and `application` start it;
`hooks` has the functions that Datasette calls. `page/` is the page of a position, `tables/` has the
read-only pages of tables and SQL. `index` lists the games, `failures` has the error pages,
`addresses` reads and writes links, `assets` are the static files, `caching` sets ETags,
`compression` makes answers smaller, `hosts` are the hosts it answers for, `naming` names games.
"""

import sqlite3
from contextlib import closing

from datasette import utils

# Datasette opens a connection at each call of these functions and never closes it: call each once.
with closing(sqlite3.connect(":memory:")) as _connection:
    _has_json = utils.detect_json1(_connection)
utils.detect_json1 = lambda _connection=None: _has_json
utils.sqlite._cached_sqlite_version = sqlite3.sqlite_version_info
