"""Check X's stored strategy for ultimate tic-tac-toe by playing it on exact boards, ply by ply.

This is slower than ``graphstore verify``, and simpler. A board is all 81 marks: boards are not
merged, neither by symmetry nor because marks in a won field do not matter. O plays every legal
move, and X the move that the database has for the board. X must win every game.
"""

from typing import NamedTuple

from common import number, options, run_main

from graphstore import GraphstoreError, Store
from graphstore.cli.console import print_json

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
PLIES = 43  # the claim to check: X wins within so many


class Board(NamedTuple):
    """81 marks, ``.``, ``X`` or ``O``; the first winner of each field, or ``.``; the last spot."""

    marks: str = "." * 81
    won: str = "." * 9
    sent: int | None = None


def has_line(cells: str, mark: str) -> bool:
    """Return whether a mark has three of nine in a row."""
    return any(cells[a] == cells[b] == cells[c] == mark for a, b, c in LINES)


def legal(board: Board) -> list[int]:
    """Return the moves, 9 * field + spot: in the field of the last spot, if it has a free spot.

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
    """Return for every ply the number of boards, and of those that X has just won.

    Raises:
        GraphstoreError: O wins, X has not won in time, or a board is missing in the strategy.
    """
    wave, counts = {Board()}, [(1, 0)]
    for ply in range(plies):
        following = set()
        for board in wave:
            if ply % 2 == 0:
                answer = store.probe(text(board, "X")).moves[0].move
                if answer not in legal(board):
                    raise GraphstoreError(f"X cannot play {answer}: {text(board, 'X')}")
                following.add(played(board, answer, "X"))
            else:
                following |= {played(board, move, "O") for move in legal(board)}
        lost = [board for board in following if has_line(board.won, "O")]
        if lost:
            raise GraphstoreError(f"O wins: {text(lost[0], 'X')}")
        wave = {board for board in following if not has_line(board.won, "X")}
        counts.append((len(following), len(following) - len(wave)))
    if wave and plies >= PLIES:
        raise GraphstoreError(f"X has not won after {plies} plies: {len(wave):,} boards")
    return counts


def main() -> None:
    """Play the strategy, and print the counts."""
    parser = options(__doc__, "file", "a database that graphstore prove ultimate wrote")
    parser.add_argument(
        "--plies", type=number, default=PLIES, help="stop after so many, default: %(default)s, all"
    )
    arguments = parser.parse_args()
    with Store.open(arguments.file) as store:
        counts = walk(store, min(arguments.plies, PLIES))
    if arguments.json:
        print_json([{"ply": p, "boards": n, "x_wins": won} for p, (n, won) in enumerate(counts)])
        return
    print(" ply   boards  X wins")
    for ply, (boards, won) in enumerate(counts):
        print(f"{ply:4}  {boards:7,}  {won:6,}")
    total, won = (sum(column) for column in zip(*counts, strict=True))
    end = "all games end there" if len(counts) > PLIES else "the rest was not walked"
    print(f"{total:,} boards, X wins in {won:,}; {end}")


if __name__ == "__main__":
    run_main(main)
