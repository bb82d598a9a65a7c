"""The names of games in addresses, and messages that do not tell where the games are."""

from urllib.parse import parse_qs, urlsplit

from graphstore.games import file_name
from graphstore.play.searched import SearchedGame
from graphstore.store.store import Store


def is_file(store: Store) -> bool:
    """Return whether a game is in a SQLite file, which has tables and SQL here."""
    return not isinstance(store, SearchedGame) and store.backend.dialect == "sqlite"


def name_of(store: Store) -> str:
    """Return the name of a game: of its file or folder without the ending, or of its schema.

    Without a database it is the name that its file would have.
    """
    if isinstance(store, SearchedGame):
        return file_name(store.address).removesuffix(".db")
    if store.backend.dialect == "postgresql":
        return parse_qs(urlsplit(store.address).query)["schema"][-1]
    return store.path.stem


def public(message: str, store: Store) -> str:
    """Return a message without the folder of a file, or without the address of a server."""
    if isinstance(store, SearchedGame):
        return message
    if store.backend.dialect == "postgresql":
        server = store.address.partition("?")[0]
        return message.replace(store.address, name_of(store)).replace(server, "PostgreSQL")
    for file in (store.path, store.path.absolute(), store.path.resolve()):
        message = message.replace(str(file), file.name)
    return message
