"""The marks of parameters in a statement, in databases that number them: ``$1``, ``$2``."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from graphstore.errors import QueryError

_TOKEN = re.compile(
    r"""
    (?P<other>
        '(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/
        | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$ | :: | :=
    )
    | (?P<mark>\?)
    | :(?P<name>[A-Za-z_]\w*)
    """,
    re.VERBOSE | re.DOTALL,
)


def numbered(
    statement: str, parameters: Sequence[Any] | Mapping[str, Any]
) -> tuple[str, list[Any] | None]:
    """Return a statement with ``$1`` for each ``?`` or ``:name``, and what to bind.

    Without parameters nothing is changed.

    >>> numbered("SELECT ':x', ply::text FROM state WHERE ply = :x OR value = :x", {"x": 1})
    ("SELECT ':x', ply::text FROM state WHERE ply = $1 OR value = $1", [1])
    """
    if not parameters:
        return statement, None
    bound: list[Any] = []
    places: dict[str, int] = {}

    def put(found: re.Match[str]) -> str:
        name = found["name"]
        if name is not None and isinstance(parameters, Mapping):
            if name not in parameters:
                raise QueryError(f"SQL: there is no parameter for :{name}")
            if name not in places:
                bound.append(parameters[name])
                places[name] = len(bound)
            return f"${places[name]}"
        if found["mark"] and not isinstance(parameters, Mapping):
            if len(bound) == len(parameters):
                raise QueryError(f"SQL: there are more ? than the {len(parameters)} parameters")
            bound.append(parameters[len(bound)])
            return f"${len(bound)}"
        return found[0]

    typed = _TOKEN.sub(put, statement)
    if not isinstance(parameters, Mapping) and len(bound) != len(parameters):
        raise QueryError(f"SQL: there are {len(bound)} ? for {len(parameters)} parameters")
    return typed, bound
