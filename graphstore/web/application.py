"""Datasette over solved games: the application, and what it serves."""

from collections.abc import Iterable
from pathlib import Path

from datasette.app import Datasette
from datasette.plugins import pm

from graphstore.errors import StoreError
from graphstore.store import Store
from graphstore.web import hooks

HERE = Path(__file__).parent


class Explorer(Datasette):  # type: ignore[misc]  # it ships no types
    """Datasette with the stores that it serves.

    Attributes:
        stores: by the name of their file without its ending, as Datasette names its databases.
    """

    def __init__(self, stores: Iterable[Store]) -> None:
        self.stores = by_name(stores)
        super().__init__(
            files=[str(store.path) for store in self.stores.values()],
            template_dir=str(HERE / "templates"),
            static_mounts=[("-/graphstore", str(HERE / "static"))],
        )


def by_name(stores: Iterable[Store]) -> dict[str, Store]:
    """Return stores by the names of their files.

    Raises:
        StoreError: two files have one name.
    """
    found: dict[str, Store] = {}
    for store in stores:
        name = store.path.stem
        if name in found:
            raise StoreError(
                f"{found[name].path} and {store.path} would both be called {name}; rename one"
            )
        found[name] = store
    return found


def application(stores: Iterable[Store]) -> Explorer:
    """Return the ASGI application's Datasette; ``application(stores).app()`` is what a server runs.

    Raises:
        StoreError: two files have one name.
    """
    if not pm.is_registered(hooks):
        pm.register(hooks, name="graphstore")
    return Explorer(stores)
