"""The texts of Python values as positions, which are the same in every run, and their reading."""

import ast
import re
import warnings
from collections.abc import Hashable, Iterable
from dataclasses import fields, is_dataclass
from enum import Enum
from math import inf, nan
from typing import Any, Final, TypeAlias

import numpy as np

PLAIN: Final = frozenset((int, str, type(None), bool, float, complex, bytes))
"""Types whose repr does not depend on hash order or on addresses, and is read as a literal."""
Place: TypeAlias = tuple[str, ...]
"""The place of a value in another: the name of each field, and "" for each tuple or frozenset."""
_STRING: Final = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""


def plain_text(position: Hashable) -> str:
    """Return the default text of a position; it is the same in every run.

    >>> plain_text((3, frozenset("ba"))), plain_text("XO.")
    ("(3, {'a', 'b'})", 'XO.')
    """
    return str.__str__(position) if isinstance(position, str) else _literal(position)


def is_same(one: object, other: object) -> bool:
    """Return True if values are equal and of the same types, also inside tuples and dataclasses."""
    if type(one) is not type(other) or one != other:
        return False
    if not all(is_same(getattr(one, name), getattr(other, name)) for name in _names(one)):
        return False
    return not isinstance(one, tuple) or all(map(is_same, one, other))  # type: ignore[call-overload]


def _literal(value: object) -> str:
    """Return a repr that does not depend on hash order or on addresses."""
    kind = type(value)
    if kind in PLAIN or (kind is tuple and PLAIN.issuperset(map(type, value))):  # type: ignore[call-overload]
        return repr(value)
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_literal, value)) + (",)" if len(value) == 1 else ")")
    if isinstance(value, frozenset | set):
        return "{" + ", ".join(sorted(map(_literal, value))) + "}" if value else "set()"
    if is_dataclass(value):
        parts = (f"{name}={_literal(getattr(value, name))}" for name in _names(value))
        return f"{kind.__qualname__}({', '.join(parts)})"
    if isinstance(value, np.generic):
        return repr(value.item())
    if kind.__repr__ is object.__repr__:
        raise TypeError(f"a {kind.__name__} has no text; define text(self, position)")
    return repr(value)


def _names(value: object) -> list[str]:
    """Return the names of the fields of a dataclass that its text has; else none."""
    described = fields(value) if is_dataclass(value) else ()
    return [field.name for field in described if field.compare and field.init]


class Reader:
    """Reads values from their `plain_text`; nothing is evaluated.

    `samples` show the types: a str stays as it is, and a tuple becomes a NamedTuple if only these
    have its length and place. The types of dataclasses and Enums may also be in `names`.
    """

    def __init__(self, samples: Iterable[Hashable], names: Iterable[object] = ()) -> None:
        self._words: dict[str, Any] = {"set": frozenset, "inf": inf, "-inf": -inf, "nan": nan}
        self._python = {"<locals>.": ""}  # of what is not Python, such as the repr of an Enum
        self._tuples: dict[tuple[Place, int], set[Any]] = {}
        self._likes: dict[type, Hashable] = {}  # a sample of each type
        for name in names:
            self._add(name)
        for sample in samples:
            sample = sample.item() if isinstance(sample, np.generic) else sample
            self._likes.setdefault(type(sample), sample)
            self._see(sample, ())
        self._pattern = re.compile("|".join([_STRING, *map(re.escape, self._python)]))

    def read(self, text: str) -> Any:
        """Return the value of a text, or raise a ValueError."""
        texts = [kind for kind in self._likes if issubclass(kind, str)]
        try:
            if len(texts) == len(self._likes):
                return texts[0](text)
            python = self._pattern.sub(lambda found: self._python.get(found[0], found[0]), text)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # from the compiler: the error says what is wrong
                value = self._value(ast.parse(python.strip(), mode="eval").body, ())
            named = any(issubclass(kind, tuple) for kind in self._likes)
            alone = (str, bool, float, complex, *[tuple] * named)
            if isinstance(value, alone) and type(value) not in self._likes:
                raise ValueError(f"{value!r} may be confused with a value of another type")
            return value
        except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError) as error:
            if texts:
                return texts[0](text)
            like = plain_text(next(iter(self._likes.values())))
            raise ValueError(
                f"write a Python value such as {like}, or define parse(self, text)"
            ) from error

    def _see(self, value: Any, place: Place) -> None:
        """Note the types of a sample and of the values in it."""
        if isinstance(value, tuple):
            self._tuples.setdefault((place, len(value)), set()).add(type(value))
        self._add(type(value))
        for part in value if isinstance(value, tuple | frozenset) else ():
            self._see(part, (*place, ""))
        for name in _names(value):
            self._see(getattr(value, name), (*place, name))

    def _add(self, kind: object) -> None:
        """Note the name of a dataclass, or those of the members of an Enum."""
        if not isinstance(kind, type):
            return
        name = kind.__qualname__.replace("<locals>.", "")
        if issubclass(kind, Enum):
            self._words |= {f"{name}.{member.name}": member for member in kind}
            self._python |= {repr(member): f"{name}.{member.name}" for member in kind}
        elif is_dataclass(kind):
            self._words[name] = kind

    def _value(self, node: ast.expr, place: Place) -> Any:
        """Return the value of an expression that consists of literals and known words."""
        if isinstance(node, ast.Tuple | ast.List):
            value = tuple(self._value(each, (*place, "")) for each in node.elts)
            kind, *others = self._tuples.get((place, len(value)), {tuple})
            if others:
                raise ValueError(f"tuples of {len(value)} values are of several types")
            return value if kind is tuple else kind._make(value)
        if isinstance(node, ast.Set):
            return frozenset(self._value(each, (*place, "")) for each in node.elts)
        if isinstance(node, ast.Call):
            made, given = self._words[ast.unparse(node.func)], list[Any]()
            for name, each in zip((*_names(made), *[""] * len(node.args)), node.args, strict=False):
                given.append(self._value(each, (*place, name)))
            named = {
                str(each.arg): self._value(each.value, (*place, str(each.arg)))
                for each in node.keywords
            }
            return made(*given, **named)
        known = isinstance(node, ast.Name | ast.Attribute | ast.UnaryOp)
        word = ast.unparse(node) if known else ""
        return self._words[word] if word in self._words else ast.literal_eval(node)
