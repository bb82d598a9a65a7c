"""Walk a stored strategy for ultimate tic-tac-toe through exact positions, a ply at a time.

Slower than ``graphstore verify`` and simpler: boards are 81 marks, all kept; no two of them are
taken as one, by symmetry or because marks in a won field do not matter. O plays every legal move, X
the one that the database shows for the very board. X must win every game.
"""

import argparse
import sys
from typing import NamedTuple

from graphstore import GraphstoreError, Store

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
PLIES = 43  # the claim


class Board(NamedTuple):
    """81 marks, ``.``, ``X`` or ``O``; who has won each field first, or ``.``; the last spot."""

    marks: str = "." * 81
    won: str = "." * 9
    sent: int | None = None


def has_line(cells: str, mark: str) -> bool:
    """Return whether a mark has three of nine in a row."""
    return any(cells[a] == cells[b] == cells[c] == mark for a, b, c in LINES)


def legal(board: Board) -> list[int]:
    """Return the moves, 9 * field + spot: in the field that was sent to, if it has a free spot.

    >>> legal(Board("." * 40 + "X" + "." * 40, sent=4))
    [36, 37, 38, 39, 41, 42, 43, 44]
    """
    moves = [move for move in range(81) if board.marks[move] == "."]
    return [move for move in moves if move // 9 == board.sent] or moves


def played(board: Board, move: int, mark: str) -> Board:
    """Return the board after a move."""
    field, spot = divmod(move, 9)
    marks = board.marks[:move] + mark + board.marks[move + 1 :]
    won = board.won
    if won[field] == "." and has_line(marks[9 * field : 9 * field + 9], mark):
        won = won[:field] + mark + won[field + 1 :]
    return Board(marks, won, spot)


def text(board: Board, mark: str) -> str:
    """Return a board as graphstore reads it; the marks of a won field are those of its winner."""
    fields = []
    for field, winner in enumerate(board.won):
        cells = board.marks[9 * field : 9 * field + 9]
        if winner != ".":
            cells = "".join("." if cell == "." else winner for cell in cells)
        fields.append(cells if "." in cells else winner.replace(".", "="))
    active = {move // 9 for move in legal(board)}
    where = "any" if len(active) > 1 or board.sent not in active else str(board.sent)
    return f"{' '.join(fields)} {where} {mark}"


def walk(store: Store, plies: int) -> list[tuple[int, int]]:
    """Return, for every ply, how many boards there are and in how many of them X has just won.

    Raises:
        AssertionError: O wins, or X has not won in time.
        GraphstoreError: the strategy does not have a board.
    """
    wave, counts = {Board()}, [(1, 0)]
    for ply in range(plies):
        following = set()
        for board in wave:
            if ply % 2 == 0:
                answer = store.probe(text(board, "X")).moves[0].move
                assert answer in legal(board), f"X cannot play {answer}: {text(board, 'X')}"
                following.add(played(board, answer, "X"))
            else:
                following |= {played(board, move, "O") for move in legal(board)}
        lost = [board for board in following if has_line(board.won, "O")]
        assert not lost, f"O wins: {text(lost[0], 'X')}"
        wave = {board for board in following if not has_line(board.won, "X")}
        counts.append((len(following), len(following) - len(wave)))
    assert plies < PLIES or not wave, f"X has not won after {plies} plies: {len(wave):,} boards"
    return counts


def main() -> None:
    """Walk, and print the counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", help="what graphstore prove ultimate wrote")
    parser.add_argument(
        "--plies", type=int, default=PLIES, help=f"how far to walk, by default {PLIES}, to the end"
    )
    words = parser.parse_args()
    try:
        with Store.open(words.file) as store:
            counts = walk(store, min(words.plies, PLIES))
    except (AssertionError, GraphstoreError) as error:
        sys.exit(f"walk_strategy: {error}")
    print(" ply   boards  X wins")
    for ply, (boards, won) in enumerate(counts):
        print(f"{ply:4}  {boards:7,}  {won:6,}")
    total, won = (sum(column) for column in zip(*counts, strict=True))
    end = "all games end there" if len(counts) > PLIES else "the rest was not walked"
    print(f"{total:,} boards, X wins in {won:,}; {end}")


if __name__ == "__main__":
    main()
