"""The structure of a database, compared with the one that this program's migrations make."""

from collections.abc import Iterator, Mapping

from graphstore.errors import NotAStoreError
from graphstore.store import schema


def altered(found: Mapping[str, str], made: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the name and the SQL of each object that differs; "" if it is missing.

    `found` and `made` are the SQL of the objects, by name. White space and quotes may differ.
    """
    for name in sorted(found.keys() | made.keys()):
        if _plain(found.get(name, "")) != _plain(made.get(name, "")):
            yield name, " ".join(found.get(name, "").split())


def refuse_altered(address: str, found: Mapping[str, str], made: Mapping[str, str]) -> None:
    """Raise NotAStoreError if a table or an index differs; views are not used for writing."""
    for name, sql in altered(found, made):
        if name not in schema.VIEWS:
            if not sql:
                raise NotAStoreError(f"{address} is damaged: it has no {name}")
            raise NotAStoreError(
                f"{address} is not as graphstore writes it: {name} is not as the migrations make "
                "it; writing to it could run untrusted code"
            )


def _plain(sql: str) -> str:
    return "".join(sql.replace('"', "").split())
