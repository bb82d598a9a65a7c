"""The identity of a user's rules: the class, its parameters, and the code that it uses.

Comments, docstrings, layout and code that the class does not use make no difference.
"""

import ast
import dis
import inspect
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import is_dataclass
from enum import Enum
from functools import cached_property
from hashlib import blake2b
from operator import itemgetter
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final

import numpy as np

from graphstore.rules.values import PLAIN, plain_text

OURS: Final = "graphstore"
"""The only name that a module in the folder of a file of rules cannot have."""
_FILLED: Final = (dict, list, set, bytearray, np.ndarray)
_VALUES: Final = (*PLAIN, tuple, frozenset, set, range, bytearray, Enum, np.generic)
SHARED: Final = ("site-packages", "dist-packages")
"""Folders of installed packages; the files in such a folder are independent of each other."""


_SILENT: Final = ("ctx", "kind", "type_comment", "returns")
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_BINDINGS: Final = (
    *(*_FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom),
    *(ast.Assign, ast.AugAssign, ast.AnnAssign),
)


def digests(game: Any) -> list[str]:
    """Return the digest of rules, then those that databases of earlier versions hold.

    These are of the bytes of the class's file, with and without its imports from the same folder.
    Without a file, as in a notebook, the class counts by its name, and earlier databases hold
    ``unknown``.
    """
    kind, own = type(game), [type(game).__qualname__, *sorted(parameters(game))]
    try:
        file = Path(inspect.getfile(kind)).resolve()
        tree, alone = _parsed(file), _content(file)
    except (TypeError, OSError):
        return [_digest("\0".join(own).encode()), "unknown"]
    used = _used(tree, kind.__qualname__.partition(".")[0])
    code = [*own, *map(_dump, used)]
    for name, path in _imported(file, used):
        code += name, _dump(_parsed(path))
    before = alone
    for name, path in _imported(file, tree.body):
        source = _content(path)
        before += f"\0{name}\0{len(source)}\0".encode() + source
    now = "\0".join(code).encode(errors="surrogatepass")
    return [*map(_digest, (now, before, alone))]


def _digest(code: bytes) -> str:
    return blake2b(code, digest_size=8).hexdigest()


def parameters(game: Any, *, fixed: bool = False) -> Iterator[str]:
    """Yield the values that ``__init__`` and a function around the class give to a game.

    Attributes that other methods set, such as counters, do not count. If `fixed`, neither do values
    that methods may fill, such as a dict.
    """
    kind, values = type(game), dict(vars(game))
    if "<locals>" in kind.__qualname__:
        values |= {name: value for name, value in vars(kind).items() if name[:2] != "__"}
    for method in filter(inspect.isfunction, vars(kind).values()):
        values |= inspect.getclosurevars(method).nonlocals
    for name in values.keys() - _set_in_play(kind):
        cached = isinstance(inspect.getattr_static(kind, name, None), cached_property)
        if not cached and not (fixed and isinstance(values[name], _FILLED)):
            text = _value(values[name])
            if text:
                yield f"{name}={text}"


def _set_in_play(kind: type) -> set[str]:
    """Return the names of the attributes that methods other than ``__init__`` set."""
    methods = filter(
        inspect.isfunction, (each for base in kind.__mro__ for each in vars(base).values())
    )
    return {
        step.argval
        for method in methods
        if method.__name__ not in ("__init__", "__post_init__")
        for step in dis.get_instructions(method)
        if step.opname == "STORE_ATTR"
    }


def _value(value: Any) -> str:
    """Return the text of a parameter, the same in every run; empty if it has none."""
    if isinstance(value, dict):
        return "{" + ", ".join(sorted(f"{_value(k)}: {_value(v)}" for k, v in value.items())) + "}"
    if isinstance(value, np.ndarray):
        return _value(value.tolist())
    if isinstance(value, type | FunctionType | BuiltinFunctionType):
        return str(value.__qualname__)
    value = tuple(value) if isinstance(value, list) else value
    if isinstance(value, _VALUES) or is_dataclass(value):
        with suppress(TypeError):  # it holds something else
            return re.sub(" at 0x[0-9A-Fa-f]+", "", plain_text((value,)))
    return ""


def _content(file: Path) -> bytes:
    """Return the bytes of a file; those of Windows lines are the same as of others."""
    return file.read_bytes().replace(b"\r\n", b"\n")


def _parsed(file: Path) -> ast.Module:
    """Return the syntax tree of a file; it is empty if the file is not Python."""
    with warnings.catch_warnings(), suppress(SyntaxError, ValueError):
        warnings.simplefilter("ignore")  # the compiler has printed them already
        return ast.parse(file.read_bytes())
    return ast.Module([], [])


def _used(tree: ast.Module, kind: str) -> list[ast.stmt]:
    """Return the statements of a module that bind or change what a class uses."""
    left, used = list(enumerate(_single(tree))), list[tuple[int, ast.stmt]]()
    bound = set().union(*(_bound(each) for _, each in left))
    inside = {each.name: _mentioned([each]) for _, each in left if isinstance(each, _FUNCTIONS)}
    names = {kind, "*"}  # a star may bind any name
    while new := [each for each in left if _concerns(each[1], names, kind, inside)]:
        used += new
        left = [each for each in left if each not in new]
        names |= _mentioned([statement for _, statement in new]) & bound
    return [statement for _, statement in sorted(used, key=itemgetter(0))]


def _single(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield the statements of a module, imports of several names as several imports."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (ast.Import([each]) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (ast.ImportFrom(node.module, [each], node.level) for each in node.names)
        else:
            yield node


def _concerns(node: ast.stmt, names: set[str], kind: str, inside: Mapping[str, set[str]]) -> bool:
    """Return True if a statement binds or changes one of `names`, or may do so."""
    if isinstance(node, _BINDINGS):
        return not names.isdisjoint(_bound(node))
    within = _mentioned([node])  # such as a call of a function that fills a table
    within |= set().union(*(inside.get(name, ()) for name in within))
    return "__name__" not in within and not names.isdisjoint(within - {kind})


def _bound(node: ast.AST) -> set[str]:
    """Return the names that a statement of a module binds or changes."""
    if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
        return {"*"}
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return {node.name}
    if isinstance(node, ast.Assign):
        return _mentioned(node.targets)
    if isinstance(node, ast.AugAssign | ast.AnnAssign):
        return _mentioned([node.target])
    if isinstance(node, ast.Import | ast.ImportFrom):
        return _mentioned([node])
    parts = (ast.stmt, ast.excepthandler)  # of `if`, `try` and others
    return set().union(*(_bound(x) for x in ast.iter_child_nodes(node) if isinstance(x, parts)))


def _mentioned(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names in syntax trees."""
    return {_name(part) for node in nodes for part in ast.walk(node)} - {""}


def _name(node: ast.AST) -> str:
    """Return the name that a node is about, or an empty text."""
    if isinstance(node, ast.alias):
        return node.asname or node.name.partition(".")[0]
    return getattr(node, "id", "")


def _dump(node: Any) -> str:
    """Return the text of a syntax tree without docstrings, the same for all versions of Python."""
    if isinstance(node, ast.AST):
        parts = [
            f"{name}={_dump(value)}"
            for name, value in ast.iter_fields(node)
            if name not in _SILENT
            and value is not None
            and value != []
            and not (name == "annotation" and isinstance(node, ast.arg))
        ]
        return f"{type(node).__name__}({','.join(parts)})"
    if isinstance(node, list):
        return f"[{','.join(_dump(each) for each in node if not _is_docstring(each))}]"
    return repr(node)


def _is_docstring(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _imported(file: Path, statements: Iterable[ast.stmt]) -> list[tuple[str, Path]]:
    """Return the (name, path) of the modules of a file's folder that its statements need."""
    folder = root = file.parent
    while (root / "__init__.py").is_file():
        root = root.parent
    found, left = {file}, [(file, statements)]
    while left and folder.name not in SHARED:
        new = {
            module
            for base, name in _names(*left.pop(), (folder, root))
            for module in _files(base, name)
            if folder in module.parents
        } - found
        found |= new
        left += [(module, _parsed(module).body) for module in new]
    paths = sorted(found - {file}, key=lambda each: each.parts)
    return [(each.relative_to(folder).as_posix(), each) for each in paths]


def _names(
    file: Path, statements: Iterable[ast.stmt], roots: tuple[Path, ...]
) -> Iterator[tuple[Path, str]]:
    """Yield (folder, module name) for everything that statements of a file may import."""
    for node in (each for statement in statements for each in ast.walk(statement)):
        bases = roots
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module or ''}.{alias.name}".strip(".") for alias in node.names]
            if node.level:
                bases = tuple(file.parents[node.level - 1 : node.level])
        else:
            continue
        for name in names:
            if bases is not roots or name.partition(".")[0] != OURS:
                yield from ((base, name) for base in bases)


def _files(base: Path, name: str) -> Iterator[Path]:
    """Yield the files of a dotted name: of each package on its path, and of the module."""
    for part in name.split("."):
        base /= part
        for file in (base / "__init__.py", base.with_name(f"{part}.py")):
            if file.is_file():
                yield file
                break
