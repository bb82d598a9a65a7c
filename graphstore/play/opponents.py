"""The names of opponents, for `play` and `train`."""

import re
from typing import Literal, NamedTuple

from graphstore.errors import OpponentError, shown

USAGE = "perfect, random, mistakes=P with P from 0 to 1, or the name of an agent in the file"

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


class Opponent(NamedTuple):
    """An opponent by its name; ``self`` is the agent that learns."""

    kind: Literal["perfect", "random", "mistakes", "agent", "person", "self"]
    mistakes: float = 0.0  # the share of moves that are not among the best
    agent: str = ""  # its name


def read_opponent(text: str) -> Opponent:
    """Return the opponent that a text means, or raise an OpponentError.

    >>> read_opponent("mistakes=0.2").mistakes
    0.2
    """
    if not isinstance(text, str):
        raise OpponentError(f"there is no opponent {text!r}; write {USAGE}")
    word, _, share = text.partition("=")
    if word == "mistakes":
        if not re.fullmatch(r"[0-9]*\.?[0-9]+|[0-9]+\.", share) or float(share) > 1:
            raise OpponentError(f"{shown(text)}: write mistakes=P with P from 0 to 1, such as 0.2")
        return Opponent("mistakes", mistakes=float(share))
    for kind in ("perfect", "random", "person", "self"):
        if text == kind:
            return Opponent(kind)
    if not _NAME.fullmatch(text):
        raise OpponentError(f"there is no opponent {shown(text)}; write {USAGE}")
    return Opponent("agent", agent=text)


def spoken(text: str) -> str:
    """Return the name that people say for an opponent.

    >>> spoken("mistakes=0.2"), spoken("menace")
    ('the player with 20% mistakes', 'menace')
    """
    read = read_opponent(text)
    if read.kind == "mistakes":
        return f"the player with {100 * read.mistakes:.3g}% mistakes"
    return text if read.kind == "agent" else f"the {read.kind} player"


def is_agent_name(text: str) -> bool:
    """Return True if the text names an agent, as only damaged databases do not.

    >>> is_agent_name("menace"), is_agent_name("<b>"), is_agent_name("perfect")
    (True, False, False)
    """
    return _NAME.fullmatch(text) is not None and read_opponent(text.lower()).kind == "agent"


def agent_name(text: str) -> str:
    """Return the text if it is a valid name of an agent; else raise an OpponentError."""
    if not isinstance(text, str):
        raise OpponentError(f"an agent cannot be called {text!r}; give a text")
    if not is_agent_name(text):
        raise OpponentError(
            f"an agent cannot be called {shown(text)}; use up to 64 letters, digits, _, - and ., "
            "beginning with a letter; the names of opponents are not allowed"
        )
    return text
