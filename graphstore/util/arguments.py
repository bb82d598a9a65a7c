"""Checks of the arguments of public functions.

Each check returns the argument as a plain Python value, or raises a one-line error that names the
argument, its value and the allowed values. NumPy integers are accepted; True and False are not.
"""

import os
import sys
from collections.abc import Iterable, Mapping
from numbers import Real
from operator import index
from typing import TYPE_CHECKING, Any

from graphstore.errors import ArgumentError, GraphstoreError, PositionTypeError, shown

if TYPE_CHECKING:  # slow to import
    import numpy as np
    from numpy.typing import NDArray


def position(name: str, value: Any) -> Any:
    """Return `value`, a position: a text, the id of a state as an int, or a list of moves."""
    if isinstance(value, str | list | tuple) or (_is_numpy(value, "ndarray") and value.ndim == 2):
        return value
    number = integer(value)
    if number is None:
        wanted = "a text, an integer or a list of moves"
        raise _wrong(name, value, wanted, PositionTypeError)
    return number


def position_texts(name: str, value: Any) -> list[str]:
    """Return `value`, one or more positions as texts, as a list."""
    texts = _listed(value)
    if not texts or not all(isinstance(each, str) for each in texts):
        raise _wrong(name, value, "a list of positions as texts, at least one", PositionTypeError)
    return texts


def position_ids(name: str, value: Any) -> "NDArray[np.int64]":
    """Return `value`, one or more positions as integers, as int64[k]."""
    import numpy as np

    if isinstance(value, np.ndarray) and value.dtype == np.int64 and value.shape > (0,):
        return value.ravel()
    ids = [integer(each) for each in _listed(value)]
    if ids and all(each is not None and 0 <= each < 2**63 for each in ids):
        return np.array(ids, dtype=np.int64)
    wanted = "a list of positions as integers, at least one"
    raise _wrong(name, value, wanted, PositionTypeError)


def count(name: str, value: object, *, least: int = 0) -> int:
    """Return `value` as an int; it must be a whole number of at least `least`."""
    number = integer(value)
    if number is None or number < least:
        raise _wrong(name, value, f"a whole number, {least} or more")
    return number


def limit(name: str, value: object, *, least: int = 0) -> int | None:
    """Return `value` as `count` does, or None for no limit."""
    return None if value is None else count(name, value, least=least)


def seed(value: object) -> int | None:
    """Return `value`, the seed of a random number generator, as an int or None."""
    number = integer(value)
    if number is None and value is not None:
        raise _wrong("seed", value, "a whole number")
    return number


def seconds(name: str, value: object) -> float | None:
    """Return `value`, a time in seconds, as a float; None for no limit."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real) or not float(value) >= 0:  # or NaN
        raise _wrong(name, value, "0 seconds or more")
    return float(value)


def share(name: str, value: object) -> float:
    """Return `value` as a float; it must be between 0 and 1, both excluded."""
    if not isinstance(value, Real) or not 0 < float(value) < 1:
        raise _wrong(name, value, "a number between 0 and 1")
    return float(value)


def instance(name: str, value: object, kind: type, wanted: str) -> None:
    """Refuse an object that is not an instance of `kind`, a class or a protocol."""
    if not isinstance(value, kind):
        raise _wrong(name, value, wanted)


def parameters(value: Any) -> list[Any] | dict[str, Any]:
    """Return the parameters of a SQL statement, with numpy scalars as Python values."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise _wrong("parameters", value, "a list, or a dict by name")
    return [_plain(each) for each in value]


def rules(name: str, value: object) -> None:
    """Refuse an object that is not a rule set; a proxy of a rule set is accepted."""
    if isinstance(value, type) or not hasattr(value, "start_states"):
        hint = f", such as {value.__name__}()" if isinstance(value, type) else ""
        raise _wrong(name, value, f"the name of a game, or rules{hint}")


def path(name: str, value: Any, wanted: str = "a path, as str or os.PathLike") -> str:
    """Return a path, or the address of a database, as text."""
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(text, str):
        raise _wrong(name, value, wanted)
    return text


def tls(value: Any) -> tuple[str, str, str] | None:
    """Return `value`, the PEM files of the authority, the certificate and its key, or None."""
    if value is None:
        return None
    files = _listed(value)
    if len(files) != 3:
        raise _wrong("tls", value, "three files: of the authority, the certificate and its key")
    authority, certificate, key = (path("tls", each) for each in files)
    return authority, certificate, key


def integer(value: Any) -> int | None:
    """Return an integer as an int; None for anything else."""
    try:
        return None if isinstance(value, bool) else index(value)
    except TypeError:
        return None


def _plain(value: Any) -> Any:
    return value.item() if _is_numpy(value, "generic") else value


def _is_numpy(value: Any, kind: str) -> bool:
    """Return whether a value is of a class of numpy; it is not if numpy was never imported."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, getattr(numpy, kind))


def _listed(value: Any) -> list[Any]:
    """Return the elements of an iterable; an empty list for a text or a number."""
    try:
        return [] if isinstance(value, str | bytes) else list(value)
    except TypeError:
        return []


def _wrong(
    name: str, value: object, wanted: str, kind: type[GraphstoreError] = ArgumentError
) -> GraphstoreError:
    given = shown(value).strip("'") if isinstance(value, int) else shown(value)
    return kind(f"{name} is {given}; it must be {wanted}")
