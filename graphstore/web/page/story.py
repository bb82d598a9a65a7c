"""A game that leads to a position: its moves from the address, and what each was worth."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Final, NamedTuple

from graphstore.errors import MoveError, SettingError, shown
from graphstore.rules.game import Game, Namer, move_text, read_move
from graphstore.rules.positions import LISTED, read_moves
from graphstore.store.probe import Move, Probe
from graphstore.store.store import Store
from graphstore.web.page import pictures
from graphstore.web.page.query import Query

MOST: Final = 200  # moves of a game in an address


class Story(NamedTuple):
    """A game: its positions, the moves between them, and the one that is shown."""

    probes: tuple[Probe, ...]  # one more than the moves
    moves: tuple[Move, ...]
    names: tuple[str, ...]  # of the moves
    at: int  # the number of the shown position
    turn: int  # the player to move at first, if positions do not say
    begun: str  # the text of the first position; empty if it is the start of the game
    game: Game | None = None
    namer: Namer = None

    @property
    def probe(self) -> Probe:
        """The shown position."""
        return self.probes[self.at]

    def found(self, probe: Probe) -> "Story":
        """Return the story with another probe of the shown position."""
        return self._replace(probes=(*self.probes[: self.at], probe, *self.probes[self.at + 1 :]))

    def mover(self, at: int | None = None) -> int:
        """Return the player to move, 1 or 2, in a position; by default in the shown one."""
        at = self.at if at is None else at
        return self.probes[at].to_move or (self.turn if at % 2 == 0 else 3 - self.turn)

    def told(self, plies: int = 0) -> int:
        """Return the player to move some plies on, where only the game tells it; else 0."""
        told = not self.probe.to_move and (bool(self.moves) or self.turn != 1)
        return self._mover_after(plies) if told else 0

    def best(self, at: int) -> str:
        """Return the name of the best move in a position."""
        return move_text(self.namer, self.probes[at].moves[0].move)

    def to(self, query: Query, at: int, *, cut: bool = False) -> Query:
        """Return the query of another position of the game; with `cut` it is the last one."""
        names = self.names[:at] if cut else self.names
        return self._written(query, names, at)

    def then(self, query: Query, *names: str) -> Query:
        """Return the query after moves in the shown position; they may be those of the game."""
        at = self.at + len(names)
        if at > MOST:
            return self.alone(query, len(names))
        if self.names[self.at : at] == names:
            return self._written(query, self.names, at)
        return self._written(query, (*self.names[: self.at], *names), at)

    def alone(self, query: Query, plies: int = 0) -> Query:
        """Return the query of a position without the game, some plies from the shown one."""
        turn = 1 if self.probe.to_move else self._mover_after(plies)
        return query.onwards._replace(turn=turn)

    def _mover_after(self, plies: int) -> int:
        return self.mover() if plies % 2 == 0 else 3 - self.mover()

    def _written(self, query: Query, names: Sequence[str], at: int) -> Query:
        text = ",".join(names)
        if names and "," not in text and read_moves(self.game, text) != [*names]:
            text += ","  # else it is read as one move for each character
        return query.onwards._replace(
            turn=self.turn,
            start=self.begun if names else "",
            moves=text,
            at=None if at == len(names) else at,
        )


def read_story(store: Store, query: Query, position: str | None) -> Story:
    """Return the game of an address; without moves, it is the position alone.

    Raises:
        SettingError, MoveError: the moves cannot be played, or do not lead to the position.
    """
    game, namer = store.game if store.has_rules else None, store.namer
    first = store.info["start"]
    with store.snapshot() as snapshot:
        wanted = None if position is None else snapshot.probe(position)
        if not query.moves:
            here = wanted or snapshot.probe(query.start or first)
            begun = "" if here.position == first else here.position
            return Story((here,), (), (), 0, query.turn, begun, game, namer)
        probes, moves = [snapshot.probe(query.start or first)], []
        split = query.moves.split(",") if "," in query.moves else read_moves(game, query.moves)
        words = [word.strip() for word in split if word.strip()]
        if len(words) > MOST:
            raise SettingError(f"moves= has {len(words):,} moves; a game may have up to {MOST}")
        for number, word in enumerate(words, 1):
            moves.append(_move(namer, probes[-1], word, number))
            probes.append(snapshot.probe(moves[-1].position))
    at = len(moves) if query.at is None else query.at
    if at > len(moves):
        raise SettingError(f"at={at} is beyond the game, which has {len(moves)} moves")
    if wanted is not None and wanted.position != probes[at].position:
        reached = probes[at].position
        raise SettingError(f"the moves lead to {reached}, not to {wanted.position}; leave one out")
    names = tuple(move_text(namer, move.move) for move in moves)
    begun = "" if probes[0].position == first else probes[0].position
    return Story(tuple(probes), tuple(moves), names, at, query.turn, begun, game, namer)


def _move(namer: Namer, here: Probe, word: str, number: int) -> Move:
    """Return the move of a word in a position."""
    wanted = None
    with suppress(MoveError):
        wanted = read_move(namer, word)
    legal = {move_text(namer, each.move): each for each in here.moves}
    found = legal.get(word) or next((each for each in here.moves if each.move == wanted), None)
    if found is None:
        ends = "the game is over" if here.ended else "the book ends there"
        why = f"legal: {' '.join([*legal][:LISTED])}" if legal else ends
        raise MoveError(f"move {number}, {shown(word)}, is not legal in {here.position}: {why}")
    return found


def flipped(store: Store, query: Query, story: Story) -> tuple[str, Query]:
    """Return the shown position in the image `query.flip`, and the query of the game in it."""
    game = store.game
    images = [pictures.turned(game, each.position).get(query.flip) for each in story.probes]
    if None in images or not store.has_rules:
        raise SettingError(f"flip={shown(query.flip)} is not an image of every position here")
    names = []
    with store.snapshot() as snapshot:
        for before, after in pairwise(images):
            moves = snapshot.probe(str(before)).moves
            move = next((each.move for each in moves if each.position == after), None)
            names.append(move_text(store.namer, move) if move is not None else "")
    here, first = str(images[story.at]), str(images[0])
    begun = "" if first == store.info["start"] else first
    if not all(names):
        return here, story.alone(query)
    turned = story._replace(names=tuple(names), begun=begun)
    return here, turned.to(query, story.at)
