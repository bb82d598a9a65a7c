"""Every error that graphstore raises on purpose, as one base and its named leaves.

A message says what was wrong, where, and what to do next; the command line prints it as it is.
A leaf also subclasses the builtin that it specialises, so ``except ValueError`` does what it says.
"""

from reprlib import Repr


class GraphstoreError(Exception):
    """The base of them all."""

    __str__ = Exception.__str__  # not KeyError's, which would put the message in quotes


class GameNameError(GraphstoreError, ValueError):
    """No such game, or parameters that it cannot have."""


class PositionError(GraphstoreError, ValueError):
    """A text or an integer that is not a position of the game."""


class PositionTypeError(PositionError, TypeError):
    """Something else where a position is wanted as text or as an integer."""


class WrongSizeError(PositionError):
    """A board with too many or too few cells."""


class UnknownCharacterError(PositionError):
    """A character that is neither player's mark nor an empty cell."""


class ImpossibleCountsError(PositionError):
    """Numbers of marks that players who take turns cannot have."""


class BothSidesWonError(PositionError):
    """A line for each side, though the first one ends the game."""


class PlayAfterWinError(PositionError):
    """Marks that were placed after the game was over."""


class ArgumentError(GraphstoreError, ValueError, TypeError):
    """An argument of a function that is of another type than it must be, or out of range."""


class EncodingError(GraphstoreError, ValueError):
    """Bits that contradict each other."""


class MoveError(GraphstoreError, ValueError):
    """A move that cannot be read or is not legal."""


class GameOverError(GraphstoreError, ValueError):
    """A position in which nothing can be played any more."""


class ResignedError(GraphstoreError):
    """An agent that gives the game up, since its box is empty."""


class OpponentError(GraphstoreError, ValueError):
    """A text that names nobody to play against, or one who cannot play this side."""


class AgentMissingError(OpponentError, LookupError):
    """No agent of that name in the database."""


class RulesError(GraphstoreError, ValueError):
    """A rule set that breaks a law every game must keep."""


class MissingExtraError(GraphstoreError, ImportError):
    """A feature whose optional package is not installed."""


class DrawingError(GraphstoreError, RuntimeError):
    """A picture that Graphviz cannot draw, or not in time."""


class RulesMissingError(GraphstoreError, LookupError):
    """A database whose game is not built in, opened without its rules."""


class RulesDifferWarning(UserWarning):
    """Rules that are not those a database was built by."""


class TooLargeWarning(UserWarning):
    """A game that will probably not fit into memory."""


class TooLargeError(GraphstoreError, ValueError):
    """More states than were allowed."""


class StoreError(GraphstoreError, OSError):
    """A database that cannot be used."""


class StoreMissingError(StoreError, FileNotFoundError):
    """No file of that name."""


class StoreExistsError(StoreError, FileExistsError):
    """A file that would have been overwritten."""


class StoreReplacedError(StoreError):
    """A file that another build has replaced since it was opened."""


class NotAStoreError(StoreError):
    """A file that graphstore did not write, or that is damaged."""


class NewerStoreError(StoreError):
    """A file from a newer graphstore."""


class OlderStoreError(StoreError):
    """A file that wants ``graphstore upgrade``."""


class NotInStoreError(GraphstoreError, KeyError):
    """A position that the database does not hold."""


class SettingError(GraphstoreError, ValueError):
    """A setting that an agent cannot have, or not any more."""


class AddressError(GraphstoreError, OSError):
    """An address that a server cannot listen at, or at which no cluster answers."""


class QueryError(GraphstoreError, ValueError):
    """SQL that is wrong, or that would do more than read."""


class SelectionError(GraphstoreError, ValueError):
    """A part of a database that has no state, or that cannot be told."""


class FormatError(GraphstoreError, ValueError):
    """A format that there is not, or that cannot hold what was asked for."""


def shown(value: object) -> str:
    """Return a value as one line, and cut where it is too long for a message; ids are quoted.

    >>> shown("XO."), len(shown("X" * 1000)), shown(77), shown(None)
    ("'XO.'", 60, "'77'", 'None')
    """
    if isinstance(value, int):  # Python writes no number of 5,000 digits in decimal
        value = str(value) if abs(value) < 1 << 1000 else hex(value)
    return " ".join(_SHORT.repr(value).split())


def visible(text: str) -> str:
    r"""Return a text whose control characters no terminal obeys: they are written as in Python.

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
