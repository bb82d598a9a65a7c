"""The errors of graphstore: one base class and its subclasses.

A message says what is wrong, where, and what to do; the command line prints it as it is. Each class
also extends the builtin that it specialises, so ``except ValueError`` catches it.
"""

from reprlib import Repr


class GraphstoreError(Exception):
    """The base class of all errors."""

    __str__ = Exception.__str__  # not KeyError's, which would put the message in quotes


class GameNameError(GraphstoreError, ValueError):
    """An unknown game, or invalid parameters for a game."""


class PositionError(GraphstoreError, ValueError):
    """A text or an integer that is not a position of the game."""


class PositionTypeError(PositionError, TypeError):
    """A position that is neither a text nor an integer."""


class WrongSizeError(PositionError):
    """A board with too many or too few cells."""


class UnknownCharacterError(PositionError):
    """A character that is neither player's mark nor an empty cell."""


class ImpossibleCountsError(PositionError):
    """Numbers of marks that alternating turns cannot produce."""


class BothSidesWonError(PositionError):
    """A line for each side, although the first line ends the game."""


class PlayAfterWinError(PositionError):
    """Marks that were placed after the game was over."""


class ArgumentError(GraphstoreError, ValueError, TypeError):
    """An argument of a function that has the wrong type or is out of range."""


class EncodingError(GraphstoreError, ValueError):
    """An encoded position whose bits contradict each other."""


class MoveError(GraphstoreError, ValueError):
    """A move that cannot be read or is not legal."""


class GameOverError(GraphstoreError, ValueError):
    """A position in which no move is possible."""


class ResignedError(GraphstoreError):
    """An agent that resigns because its box is empty."""


class OpponentError(GraphstoreError, ValueError):
    """A text that is not an opponent, or an opponent that cannot play this side."""


class AgentMissingError(OpponentError, LookupError):
    """No agent of that name in the database."""


class RulesError(GraphstoreError, ValueError):
    """A rule set that breaks a law of games."""


class MissingExtraError(GraphstoreError, ImportError):
    """A feature whose optional package is not installed."""


class DrawingError(GraphstoreError, RuntimeError):
    """A picture that Graphviz cannot draw, or cannot draw in time."""


class RulesMissingError(GraphstoreError, LookupError):
    """A database whose game is not built in, opened without its rules."""


class RulesDifferWarning(UserWarning):
    """Rules that differ from those that a database was built with."""


class TooLargeWarning(UserWarning):
    """A game that probably does not fit into memory."""


class TooLargeError(GraphstoreError, ValueError):
    """More states or moves than are allowed."""


class StoreError(GraphstoreError, OSError):
    """A database that cannot be used."""


class MemoryLimitError(StoreError):
    """A limit on the address space of the process that is too low for a package."""


class StoreMissingError(StoreError, FileNotFoundError):
    """No file of that name."""


class StoreExistsError(StoreError, FileExistsError):
    """A file that exists and must not be overwritten."""


class StoreReplacedError(StoreError):
    """A file that another build has replaced since it was opened."""


class NotAStoreError(StoreError):
    """A file that graphstore did not write, or a damaged one."""


class NewerStoreError(StoreError):
    """A file from a newer graphstore."""


class OlderStoreError(StoreError):
    """A file that needs ``graphstore upgrade``."""


class NotInStoreError(GraphstoreError, KeyError):
    """A position that the database does not hold."""


class SettingError(GraphstoreError, ValueError):
    """An invalid setting of an agent or a page, or one that differs from the agent's own."""


class AddressError(GraphstoreError, OSError):
    """An address where a server cannot listen, or where no cluster answers."""


class QueryError(GraphstoreError, ValueError):
    """SQL that is wrong, or that does more than read."""


class SelectionError(GraphstoreError, ValueError):
    """A selection of states that is empty, or not fully described."""


class FormatError(GraphstoreError, ValueError):
    """An unknown format, or one that cannot hold the requested data."""


def shown(value: object) -> str:
    """Return a value as one line for a message: shortened, with integers in quotes.

    >>> shown("XO."), len(shown("X" * 1000)), shown(77), shown(None)
    ("'XO.'", 60, "'77'", 'None')
    """
    if isinstance(value, int):  # Python refuses to write 5,000 digits in decimal
        value = str(value) if abs(value) < 1 << 1000 else hex(value)
    text = _SHORT.repr(value)
    return (
        text if isinstance(value, str) else " ".join(text.split())
    )  # the repr of an array has several lines


def visible(text: str) -> str:
    r"""Return a text with its control characters escaped, so that a terminal does not obey them.

    >>> print(visible("one\ntwo \x1b[31mred"))
    one
    two \x1b[31mred
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each in "\n\t" else each.encode("unicode_escape").decode()
        for each in text
    )


_SHORT = Repr()
_SHORT.maxstring = 60
