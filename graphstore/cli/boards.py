"""Positions and boards on a terminal, in colours."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from graphstore.cli import console
from graphstore.errors import visible
from graphstore.rules import game as rules
from graphstore.rules.board import WORDS
from graphstore.rules.game import Game, Namer, move_text, names_moves
from graphstore.rules.plain import PlainGame
from graphstore.store.format import STRATEGY
from graphstore.store.probe import Probe, margin_of
from graphstore.store.words import _count, in_words, move_in_words, signed

if TYPE_CHECKING:
    from graphstore.play.match import Match  # only one command needs it
    from graphstore.solver.search import Searched

COLOURS = {rules.WIN: "green", rules.DRAW: "yellow", rules.LOSS: "red"}
PLAYER_COLOURS = ("cyan", "magenta")


class _Console(Console):
    """A console that leaves a closed pipe to `graphstore.cli.main.main`; rich would exit with 1."""

    def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
        """Yield the segments to print, without control characters in their texts."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))

    def on_broken_pipe(self) -> None:
        """Raise the error that rich caught."""
        raise


def out(*, stderr: bool = False) -> Console:
    """Return a console on stdout, or with `stderr` on stderr; NO_COLOR turns colours off."""
    return _Console(
        file=sys.stderr if stderr else sys.stdout,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
        color_system=None if os.environ.get("NO_COLOR") else "auto",  # None: no bold either
    )


def print_probe(game: Game | None, probe: Probe, namer: Namer, *, bound: bool = False) -> None:
    """Print a position, its value and its moves, which `namer` names; `bound`: see `in_words`."""
    screen = out()
    screen.print(_coloured_board(game, probe))
    screen.print()
    screen.print(Text(f"{probe.position}  {in_words(game, probe, bound=bound)}", style="bold"))
    about = f"state {probe.state}, ply {probe.ply}, orbit {probe.orbit}, score {probe.score:.4g}"
    if probe.random_value is not None:
        about += f", random play {probe.random_value:+.4f}"
    if probe.nimber is not None:
        about += f", nimber {probe.nimber}"
    screen.print(about)
    scored = ("margin",) * (probe.margin is not None)
    numbers = (*scored, "score", "win_depth", "lose_depth", "remoteness")
    _print_moves(screen, namer, probe.moves, numbers)


def _print_moves(
    screen: Console, namer: Namer, moves: Sequence[Any], numbers: Sequence[str]
) -> None:
    """Print a table of moves, with these attributes of a move; nothing if there is no move."""
    if not moves:
        return
    most = console.room()
    table = Table(box=None, pad_edge=False, header_style="bold")
    names = ("name",) if names_moves(namer) else ()
    for name in ("move", *names, "position", "result", *numbers):
        table.add_column(
            name,
            justify="right" if name in ("move", *numbers) else "left",
            no_wrap=most is None or name in ("move", "result"),
            overflow="fold",
        )
    for move in moves:
        shown = (
            signed(margin_of(move)) if name == "margin" else getattr(move, name) for name in numbers
        )
        result = "unknown" if move.value is None else WORDS[-move.value]
        table.add_row(
            str(move.move),
            *(Text(move_text(namer, move.move)) for _ in names),
            Text(move.position),
            Text(result, style=_colour(move)),
            *(f"{cell:.4g}" if isinstance(cell, float) else console._cell(cell) for cell in shown),
        )
    screen.print()
    unbounded = screen.options.update_width(console.WIDEST)
    widest = screen.measure(table, options=unbounded).maximum  # so that nothing is cut
    screen.width = widest if most is None else min(widest, most)
    screen.print(table)


def _coloured_board(game: Game | None, probe: Probe) -> Text:
    """Return the board, with the numbers of free cells in the colours of their results."""
    colours = {move.move: _colour(move) for move in probe.moves}

    def style(cell: int, mark: str) -> str:
        return colours.get(cell, "dim" if mark == "." else "bold")

    return _board(game, probe, style)


def board_in_play(match: "Match") -> Text:
    """Return the board of a match, marks in their players' colours, the last one in reverse."""
    initials = _initials(match.game)
    free = {move.move for move in match.probe.moves}
    owners = {turn.move.move: PLAYER_COLOURS[turn.player - 1] for turn in match.turns}
    last = match.turns[-1].move.move if match.turns else None

    def style(cell: int, mark: str) -> str:
        if cell in free or mark == ".":
            return "dim"
        colour = owners.get(cell) or initials.get(mark, "")
        return f"bold {colour}{' reverse' * (cell == last)}"

    text = _board(match.game, match.probe, style)
    if match.game is None or match.game.shape is None:
        for letter, colour in initials.items():
            text.highlight_regex(re.escape(letter), colour)
    return text


def _board(game: Game | None, probe: Probe, style: Callable[[int, str], str]) -> Text:
    """Return the board with numbers on free cells; `style` takes a cell and its mark."""
    drawn = probe.position if game is None else game.board(game.read(probe.position))
    if game is None or game.shape is None:
        return Text(drawn)
    rows, columns = game.shape
    free = {move.move for move in probe.moves}
    width = len(str(rows * columns - 1))
    text = Text()
    for cell, mark in enumerate(drawn.replace("\n", "")):
        shown = str(cell) if cell in free else mark
        text.append(" " * (width - len(shown)))
        text.append(shown, style=style(cell, mark))
        text.append(" " if (cell + 1) % columns else "\n" * (cell + 1 < rows * columns))
    return text


def _colour(move: Any) -> str:
    """Return the colour of a move's result; empty if it is not known."""
    return "" if move.value is None else COLOURS[-move.value]


def _initials(game: Game | None) -> dict[str, str]:
    """Return the colour of each player's initial; empty if both initials are the same."""
    names = PlainGame.players if game is None else game.players
    letters = [name[:1].upper() for name in names]
    return {} if letters[0] == letters[1] else dict(zip(letters, PLAYER_COLOURS, strict=True))


def print_hint(screen: Console, match: "Match") -> None:
    """Print the legal moves with their results, best first."""
    moves, bound = match.hint().moves, match.store.info["extent"] == STRATEGY
    width = max(len(match.name(move)) for move in moves)
    for move in moves:
        screen.print(
            Text(match.name(move).rjust(width) + "  "),
            Text(move_in_words(move, bound=bound), style=_colour(move)),
            sep="",
        )


def print_searched(game: Game, found: "Searched") -> None:
    """Print the result of a search."""
    names = game.players if found.to_move else ("the player to move", "the other player")
    mover, other = names if found.to_move != 2 else names[::-1]
    ended = found.method == "rules"
    if found.value is None:
        why = {
            "timeout": "it did not end in time",
            "memory": "out of memory",
            "endless": "play can repeat a position, and too many positions are below this one",
        }
        worth = f"unknown ({why[str(found.why)]})"
    elif found.value == rules.DRAW:
        worth = "over: drawn (value 0)" if ended else "drawn (value 0)"
    else:
        who = mover if found.value == rules.WIN else other
        worth = f"over: {who} has won" if ended else f"{who} wins"
        worth += f" (value {found.value:+})"
    turn = f"{mover} to move: " if found.to_move and not ended else ""
    screen = out()
    screen.print(f"{found.game}: {found.position}")
    screen.print(f"{turn}{worth}")
    screen.print(f"{found.method}, {_count(found.nodes, 'node', 'nodes')}, {found.seconds} s")
    numbers = [] if found.solver_score is None else ["solver_score"]
    if found.remoteness is not None and not ended:
        score = f", solver score {found.solver_score:+}" if numbers else ""
        screen.print(f"plies to the end {found.remoteness}{score}")
    _print_moves(screen, game, found.moves or (), ["remoteness", *numbers])
