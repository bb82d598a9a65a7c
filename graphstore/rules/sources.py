"""The files that make up a user's rules, and a digest of them."""

import ast
import warnings
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Final

OURS: Final = "graphstore"
"""The only name that a module in the folder of a file of rules cannot have."""
SHARED: Final = ("site-packages", "dist-packages")
"""Folders of installed packages; the files in such a folder are independent of each other."""


def digest(file: Path) -> str:
    """Return a digest of a file of rules and of the modules in its folder that it imports."""
    content = _content(file)
    for other in sorted(_imported(file) - {file}, key=lambda each: each.parts):
        source = _content(other)
        name = other.relative_to(file.parent).as_posix()
        content += f"\0{name}\0{len(source)}\0".encode() + source
    return blake2b(content, digest_size=8).hexdigest()


def digest_alone(file: Path) -> str:
    """Return a digest of a file of rules without its imports, as older databases hold it."""
    return blake2b(_content(file), digest_size=8).hexdigest()


def _content(file: Path) -> bytes:
    """Return the bytes of a file; those of Windows lines are the same as of others."""
    return file.read_bytes().replace(b"\r\n", b"\n")


def _imported(file: Path) -> set[Path]:
    """Return a file and the modules of its folder that it imports, directly or indirectly."""
    folder = root = file.parent
    while (root / "__init__.py").is_file():
        root = root.parent
    found, left = {file}, [file]
    while left and folder.name not in SHARED:
        new = {
            module
            for base, name in _names(left.pop(), (folder, root))
            for module in _files(base, name)
            if folder in module.parents
        } - found
        found |= new
        left += new
    return found


def _names(file: Path, roots: tuple[Path, ...]) -> Iterator[tuple[Path, str]]:
    """Yield (folder, module name) for everything that a file may import."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the compiler has printed them already
            tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
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
