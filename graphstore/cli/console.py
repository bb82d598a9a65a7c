"""How answers look in a terminal. Data goes to stdout, talk to stderr."""

import csv
import json
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from graphstore.errors import visible
from graphstore.rules import game as rules
from graphstore.rules.board import WORDS
from graphstore.rules.game import Game, NamesMoves, move_text
from graphstore.rules.plain import PlainGame
from graphstore.store.probe import Line, Move, Probe
from graphstore.store.schema import STRATEGY
from graphstore.store.sql import weight

if TYPE_CHECKING:
    from graphstore.play.match import Match  # no other command needs it
    from graphstore.solver.search import Searched

from graphstore.store.words import _count, in_words, move_in_words

WIDTH_SAMPLE = 200  # rows that decide how wide the columns of a table are
WIDEST = 100_000
COLOURS = {rules.WIN: "green", rules.DRAW: "yellow", rules.LOSS: "red"}
PLAYER_COLOURS = ("cyan", "magenta")


class _Console(Console):
    """A console that leaves a closed pipe to `graphstore.cli.main.main`; rich would exit with 1."""

    def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
        """Yield the segments of what is printed; in its texts no terminal finds a command."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))

    def on_broken_pipe(self) -> None:
        """Raise what is being handled."""
        raise  # rich calls this from where it caught it


def out(*, talk: bool = False) -> Console:
    """Return a console for data, or for talk on stderr: coloured on a terminal, not by NO_COLOR."""
    return _Console(
        file=sys.stderr if talk else sys.stdout,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
        color_system=None if os.environ.get("NO_COLOR") else "auto",  # None: no bold either
    )


@contextmanager
def progress_shown() -> Iterator[rules.Progress]:
    """Lend a progress callback that draws on a terminal, and nowhere else."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield rules.quiet
        return
    from rich import progress  # slow to import, and most commands need none

    columns = (
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
    )
    with progress.Progress(*columns, console=console, transient=True) as bar:
        tasks: dict[str, Any] = {}

        def show(phase: str, done: int, total: int | None) -> None:
            if phase not in tasks:
                for task in tasks.values():
                    bar.stop_task(task)
                tasks[phase] = bar.add_task(phase, total=total)
            bar.update(tasks[phase], completed=done, total=total)

        yield show


def print_json(value: Any) -> None:
    """Print one JSON value."""
    print(json_text(value))


def json_text(value: Any) -> str:
    """Return a JSON value on several lines."""
    return json.dumps(value, indent=2, default=_jsonable)


def print_json_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows as a JSON list of objects, one a line, as they come."""
    names = _distinct(columns)
    separator = "[\n"
    for row in rows:
        cells = dict(zip(names, map(_jsonable, row), strict=True))
        print(separator + json.dumps(cells), end="")
        separator = ",\n"
    print("[]" if separator == "[\n" else "\n]")


def print_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows as CSV with a header; NULL is an empty cell."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_jsonable(c) if isinstance(c, bytes) else c for c in row] for row in rows)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows in aligned columns as they come; the first ones decide the widths."""
    columns, stream = [*map(visible, columns)], iter(rows)
    sample: list[Sequence[Any]] = []
    size = 0
    for row in islice(stream, WIDTH_SAMPLE):
        sample.append(row)
        size += weight(row)
        if size > WIDEST:
            break
    widths = [
        max(len(line) for cell in (name, *cells) for line in _cell(cell).split("\n"))
        for name, *cells in zip(columns, *sample, strict=True)
    ]
    numeric = [
        all(isinstance(cell, int | float | None) for cell in cells)
        for cells in zip(*sample, strict=True)
    ] or [False] * len(columns)
    print(
        "  ".join(name.ljust(width) for name, width in zip(columns, widths, strict=True)).rstrip()
    )
    print("  ".join("-" * width for width in widths))
    for row in chain(sample, stream):
        parts = [_cell(cell).split("\n") for cell in row]
        for number in range(max(map(len, parts))):
            cells = (part[number] if number < len(part) else "" for part in parts)
            print(
                "  ".join(
                    cell.rjust(width) if right else cell.ljust(width)
                    for cell, width, right in zip(cells, widths, numeric, strict=True)
                ).rstrip()
            )


def print_report(report: Mapping[str, Any]) -> None:
    """Print names and values, one a line."""
    width = max(map(len, report))
    for name, value in report.items():
        text = f"{value:,}" if isinstance(value, int) else _cell(value)
        print(f"{name.ljust(width)}  {text}")


def print_probe(game: Game | None, probe: Probe, *, bound: bool = False) -> None:
    """Draw a position, say what it is worth, and list its moves; `bound` as for `in_words`."""
    console = out()
    console.print(board(game, probe))
    console.print()
    console.print(Text(f"{probe.position}  {in_words(game, probe, bound=bound)}", style="bold"))
    facts = f"state {probe.state}, ply {probe.ply}, orbit {probe.orbit}, score {probe.score:.4g}"
    if probe.random_value is not None:
        facts += f", random play {probe.random_value:+.4f}"
    console.print(facts)
    if not probe.moves:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    names = ("name",) if isinstance(game, NamesMoves) else ()
    numbers = ("score", "win_depth", "lose_depth", "remoteness")
    for name in ("move", *names, "position", "result", *numbers):
        table.add_column(
            name, justify="right" if name in ("move", *numbers) else "left", no_wrap=True
        )
    for move in probe.moves:
        result = -move.value
        cells = (move.score, move.win_depth, move.lose_depth, move.remoteness)
        table.add_row(
            str(move.move),
            *(Text(move_text(game, move.move)) for _ in names),
            Text(move.position),
            Text(WORDS[result], style=COLOURS[result]),
            *(f"{cell:.4g}" if isinstance(cell, float) else _cell(cell) for cell in cells),
        )
    console.print()
    unbounded = console.options.update_width(WIDEST)
    console.width = console.measure(table, options=unbounded).maximum  # nothing may be cut
    console.print(table)


def print_searched(game: Game, found: "Searched") -> None:
    """Say what a search found out of a position."""
    names = game.players if found.to_move else ("the player to move", "the other player")
    mover, other = names if found.to_move != 2 else names[::-1]
    ended = found.method == "rules"
    if found.value is None:
        why = {
            "timeout": "the time was up",
            "memory": "the memory was full",
            "endless": "play may come back to a position, and too many are below this one",
        }
        worth = f"unknown ({why[str(found.why)]})"
    elif found.value == rules.DRAW:
        worth = "over: drawn (value 0)" if ended else "drawn (value 0)"
    else:
        who = mover if found.value == rules.WIN else other
        worth = f"over: {who} has won" if ended else f"{who} wins"
        worth += f" (value {found.value:+})"
    turn = f"{mover} to move: " if found.to_move and not ended else ""
    console = out()
    console.print(f"{found.game}: {found.position}")
    console.print(f"{turn}{worth}")
    console.print(f"{found.method}, {_count(found.nodes, 'node', 'nodes')}, {found.seconds} s")


def print_line(game: Game | None, line: Line, *, bound: bool = False) -> None:
    """List the positions of a line of best play; `bound` as for `in_words`."""
    console = out()
    for number, probe in enumerate(line.probes):
        move = move_text(game, line.moves[number - 1]) if number else ""
        worth = in_words(game, probe, bound=bound)
        console.print(f"{number:>3}  {move:>4}  {probe.position}  {worth}")
    if line.repeats:
        console.print("and so on: this position was met before, play need never end")


def board(game: Game | None, probe: Probe) -> Text:
    """Return the board; where moves are cells, a free one is its number in its result's colour."""
    if game is None or game.shape is None:
        return Text(probe.position if game is None else game.board(game.read(probe.position)))
    rows, columns = game.shape
    cells = game.board(game.read(probe.position)).replace("\n", "")
    moves: dict[int, Move] = {move.move: move for move in probe.moves}
    width = len(str(rows * columns - 1))
    text = Text()
    for cell, mark in enumerate(cells):
        if cell in moves:
            text.append(str(cell).rjust(width), style=COLOURS[-moves[cell].value])
        else:
            text.append(mark.rjust(width), style="bold" if mark != "." else "dim")
        text.append(" " if (cell + 1) % columns else "\n" * (cell + 1 < rows * columns))
    return text


def board_in_play(match: "Match") -> Text:
    """Return the board of a match: marks in their players' colours, the last one in reverse.

    Where moves are cells, a free one is its number, all of them alike: a colour would be a hint.
    """
    game, probe = match.game, match.probe
    if game is None or game.shape is None:
        drawn = probe.position if game is None else game.board(game.read(probe.position))
        text = Text(drawn)
        for letter, colour in _initials(game).items():
            text.highlight_regex(re.escape(letter), colour)
        return text
    rows, columns = game.shape
    cells = game.board(game.read(probe.position)).replace("\n", "")
    free = {move.move for move in probe.moves}
    owners = {turn.move.move: PLAYER_COLOURS[turn.player - 1] for turn in match.turns}
    last = match.turns[-1].move.move if match.turns else None
    width = len(str(rows * columns - 1))
    text = Text()
    for cell, mark in enumerate(cells):
        shown = str(cell) if cell in free else mark
        style = "dim"
        if cell not in free and mark != ".":
            colour = owners.get(cell) or _initials(game).get(mark, "")
            style = f"bold {colour}{' reverse' * (cell == last)}"
        text.append(" " * (width - len(shown)))
        text.append(shown, style=style)
        text.append(" " if (cell + 1) % columns else "\n" * (cell + 1 < rows * columns))
    return text


def _initials(game: Game | None) -> dict[str, str]:
    """Return the players' initials, which are their marks where they differ, and their colours."""
    names = PlainGame.players if game is None else game.players
    letters = [name[:1].upper() for name in names]
    return {} if letters[0] == letters[1] else dict(zip(letters, PLAYER_COLOURS, strict=True))


def print_hint(console: Console, match: "Match") -> None:
    """List the moves of the player to move, best first, with what each is worth."""
    moves, bound = match.hint().moves, match.store.info["extent"] == STRATEGY
    width = max(len(match.name(move)) for move in moves)
    for move in moves:
        console.print(
            Text(match.name(move).rjust(width) + "  "),
            Text(move_in_words(move, bound=bound), style=COLOURS[-move.value]),
            sep="",
        )


def _cell(cell: Any) -> str:
    if cell is None:
        return ""
    return repr(cell) if isinstance(cell, float) else visible(str(_jsonable(cell)))


def _jsonable(value: Any) -> Any:
    """Return what JSON has instead: bytes in hexadecimal, infinities and all else as texts."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if isinstance(value, int | str | None) else str(value)


def _distinct(names: Sequence[str]) -> list[str]:
    """Return names for the keys of an object: a second ``id`` becomes ``id_2``."""
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return result
