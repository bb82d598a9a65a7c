"""The command line that runs a statement of a page, quoted for the shell."""

import re
import shlex
from collections.abc import Mapping
from typing import Any

_PARTS = re.compile(  # texts, names and comments, also without their ends, so that it is linear
    r"'[^']*(?:'|\Z)|\"[^\"]*(?:\"|\Z)|`[^`]*(?:`|\Z)|\[[^]]*(?:\]|\Z)|--[^\n]*|/\*.*?(?:\*/|\Z)"
    r"|:(\w+)",
    re.DOTALL,
)


def command(file: str, statement: str, parameters: Mapping[str, Any]) -> str:
    r"""Return the command for a statement, with the values of its parameters as SQL texts.

    >>> command("a b.db", "SELECT * FROM state WHERE ply = :ply -- not :ply", {"ply": "2"})
    'graphstore sql "a b.db" "SELECT * FROM state WHERE ply = \'2\' -- not :ply"'
    """

    def written(part: re.Match[str]) -> str:
        if part[1] is None or part[1] not in parameters:
            return part[0]
        return "'" + str(parameters[part[1]]).replace("'", "''") + "'"

    statement = _PARTS.sub(written, statement.strip())
    options = "-- " * (file.startswith("-") or statement.startswith("-"))
    return f"graphstore sql {options}{_quoted(file)} {_quoted(statement)}"


def _quoted(text: str) -> str:
    """Return a word for a POSIX shell, in double quotes if they suffice: SQL has single ones."""
    plain = shlex.quote(text)
    return plain if plain == text or {*text} & {*'"$`\\!'} else f'"{text}"'
