"""Results as text, tables, JSON and CSV: data on stdout, messages on stderr."""

import csv
import json
import math
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from itertools import chain, islice, zip_longest
from time import monotonic
from typing import TYPE_CHECKING, Any

from graphstore.errors import visible
from graphstore.store.sql import weight

if TYPE_CHECKING:
    from graphstore.rules.game import Game, Namer, Progress  # imports numpy
    from graphstore.solver.search import Searched
    from graphstore.store.probe import Line

WIDTH_SAMPLE = 200  # rows that set the widths of the columns of a table
WIDEST = 100_000
NARROW = 60  # columns of the narrowest terminal that tables fit
NARROWEST = 4  # columns of a folded head of numbers


@contextmanager
def progress_shown() -> "Iterator[Progress]":
    """Yield a progress callback that draws on stderr, or prints lines if it is not a terminal."""
    from rich.console import Console  # slow to import

    console = Console(stderr=True)
    if not console.is_terminal:
        lines = PlainProgress(lambda line: print(line, file=sys.stderr, flush=True))
        yield lines
        lines.finish()
        return
    from rich import progress
    from rich.table import Column

    columns = (
        progress.SpinnerColumn("line" if console.options.ascii_only else "dots"),
        progress.TextColumn(
            "{task.description}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")
        ),
        progress.BarColumn(bar_width=max(4, min(40, console.width - 60))),
        progress.TextColumn("{task.fields[count]}", table_column=Column(no_wrap=True)),
        progress.TimeElapsedColumn(table_column=Column(no_wrap=True)),
        progress.TimeRemainingColumn(compact=True, table_column=Column(no_wrap=True)),
    )
    with progress.Progress(*columns, console=console, transient=True, expand=True) as bar:
        tasks: dict[str, Any] = {}
        current = ""

        def show(phase: str, done: int, total: int | None) -> None:
            nonlocal current
            if phase != current:
                if current:  # it keeps its time, and its bar does not move
                    last = bar.tasks[tasks[current]]
                    bar.update(last.id, total=last.total or last.completed or 1)
                    bar.stop_task(last.id)
                if phase not in tasks:
                    tasks[phase] = bar.add_task(phase, total=total, count="")
                bar.tasks[tasks[phase]].stop_time = None
                current = phase
            bar.update(tasks[phase], completed=done, total=total, count=_of(done, total))

        yield show


class PlainProgress:
    """A progress callback that prints lines, for work that lasts longer than `every` seconds.

    After that time it prints a line for each phase that ends, and for the present one each time.
    """

    def __init__(
        self,
        say: Callable[[str], None],
        *,
        every: float = 30,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._say, self._every, self._clock = say, every, clock
        self._last = clock()
        self._next = self._last + every
        self._spoke = False
        self._phase = ""
        self._phases: dict[str, tuple[float, int, int | None]] = {}  # not printed as ended yet

    def __call__(self, phase: str, done: int, total: int | None) -> None:
        """Note the progress of a phase."""
        self._pass(self._clock())
        if phase != self._phase and self._spoke:
            self.finish()
        seconds = self._phases.get(phase, (0.0, 0, None))[0]
        self._phase = phase
        self._phases[phase] = (seconds, done, total)
        if self._last >= self._next:
            ended = {each: self._phases.pop(each) for each in [*self._phases] if each != phase}
            for each, so_far in ended.items():
                self._print(each, *so_far)
            left = f", {_time(seconds * (total - done) / done)} left" if total and done else ""
            self._say(f"{phase}: {_of(done, total) or 'running'} after {_time(seconds)}{left}")
            self._next, self._spoke = self._last + self._every, True

    def finish(self) -> None:
        """Print a line for each phase that has ended, if the work was long."""
        self._pass(self._clock())
        if self._spoke:
            for each, so_far in self._phases.items():
                self._print(each, *so_far)
            self._phases.clear()

    def _pass(self, now: float) -> None:
        """Add the time since the last call to the phase of that call."""
        if self._phase in self._phases:
            seconds, done, total = self._phases[self._phase]
            self._phases[self._phase] = (seconds + now - self._last, done, total)
        self._last = now

    def _print(self, phase: str, seconds: float, done: int, total: int | None) -> None:
        self._say(f"{phase}: {_of(done, total) or 'done'} in {_time(seconds)}")


def _of(done: int, total: int | None) -> str:
    """Return how much is done of a total as text; empty if neither is known."""
    return f"{done:,}/{total:,}" if total else f"{done:,}" if done else ""


def _time(seconds: float) -> str:
    return f"{timedelta(seconds=round(seconds))}"


def print_json(value: Any) -> None:
    """Print one JSON value."""
    print(json_text(value))


def json_text(value: Any) -> str:
    """Return a JSON value on several lines; a NamedTuple becomes an object."""
    return json.dumps(_data(value), indent=2, default=_jsonable)


def _data(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: _data(each) for key, each in value.items()}
    return [*map(_data, value)] if isinstance(value, list | tuple) else value


def print_json_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows as they come, as a JSON list with one object per line."""
    names = _distinct(columns)
    separator = "[\n"
    for row in rows:
        cells = dict(zip(names, map(_jsonable, row), strict=True))
        print(separator + json.dumps(cells), end="")
        separator = ",\n"
    print("[]" if separator == "[\n" else "\n]")


def output_as_in_a_file() -> None:
    """Write standard output in UTF-8, and line ends as they are, as in a file."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace", newline="")


def print_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows as CSV with a header; NULL is an empty cell."""
    output_as_in_a_file()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_jsonable(c) if isinstance(c, bytes) else c for c in row] for row in rows)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows as they come in aligned columns; the first rows set the widths."""
    columns, stream = [*map(visible, columns)], iter(rows)
    sample: list[Sequence[Any]] = []
    size = 0
    for row in islice(stream, WIDTH_SAMPLE):
        sample.append(row)
        size += weight(row)
        if size > WIDEST:
            break
    texts = [[_cell(cell) for cell in row] for row in sample]
    numeric = [
        all(isinstance(cell, int | float | None) for cell in cells)
        for cells in zip(*sample, strict=True)
    ] or [False] * len(columns)
    cells_wide = [
        max((len(line) for cell in cells for line in cell.split("\n")), default=0)
        for cells in zip(*texts, strict=True)
    ] or [0] * len(columns)
    most = room()
    widths = _fitting([*map(len, columns)], cells_wide, numeric, most)
    rows = chain(texts, ([_cell(cell) for cell in row] for row in stream))
    if widths is None:
        for number, row in enumerate(rows):
            print("\n" * (number > 0), end="")
            print_report(dict(zip(_distinct(columns), row, strict=True)))
        return
    _print_row(columns, widths, [False] * len(columns), widths)
    folds = [
        None if most is None or number else width
        for width, number in zip(widths, numeric, strict=True)
    ]
    print("  ".join("-" * width for width in widths))
    for row in rows:
        _print_row(row, widths, numeric, folds)


def _print_row(
    row: Sequence[str], widths: Sequence[int], right: Sequence[bool], folds: Sequence[int | None]
) -> None:
    """Print a row of a table, on several lines where a cell has them or is wider than its fold."""
    folded = [_folded(cell, fold) for cell, fold in zip(row, folds, strict=True)]
    for cells in zip_longest(*folded, fillvalue=""):
        aligned = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(cells, widths, right, strict=True)
        ]
        print("  ".join(aligned).rstrip())


def room() -> int | None:
    """Return the width of the terminal, or COLUMNS; None for a pipe, or if it is less than 60."""
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    return columns if columns >= NARROW else None


def _fitting(
    heads: Sequence[int], cells: Sequence[int], numeric: Sequence[bool], most: int | None
) -> list[int] | None:
    """Return the widths of columns, at most `most` in all; None if they do not fit.

    Heads and texts may be folded, numbers may not.
    """
    widths = [*map(max, heads, cells)]
    if most is None:
        return widths
    least = [
        max(cell, min(head, NARROWEST)) if number else min(max(head, cell), 3 * NARROWEST)
        for head, cell, number in zip(heads, cells, numeric, strict=True)
    ]
    most -= 2 * (len(widths) - 1)
    widths = [min(width, max(most, low)) for width, low in zip(widths, least, strict=True)]
    while sum(widths) > most:  # narrow the widest column that may be
        wide = [width if width > low else 0 for width, low in zip(widths, least, strict=True)]
        if not any(wide):
            return None
        widths[wide.index(max(wide))] -= 1
    return widths


def _folded(text: str, width: int | None) -> list[str]:
    """Return the lines of a text, folded at spaces or within words to a width."""
    lines = text.split("\n")
    if width is None or max(map(len, lines)) <= width:
        return lines
    return [part for line in lines for part in textwrap.wrap(line, max(1, width)) or [""]]


def print_report(report: Mapping[str, Any]) -> None:
    """Print names and values, one pair per line; long values are folded to the terminal."""
    width, most = max(map(len, report)), room()
    for name, value in report.items():
        text = f"{value:,}" if isinstance(value, int) else _cell(value)
        lines = _folded(text, most and max(3 * NARROWEST, most - width - 2))
        for label, line in zip_longest([name], lines, fillvalue=""):
            print(f"{label.ljust(width)}  {line}")


def searched_record(game: "Game", found: "Searched") -> dict[str, Any]:
    """Return the result of a search by the names of its columns; moves have the names of `game`."""
    from graphstore.rules.game import move_text, names_moves

    record = found._asdict()
    if found.moves is None:
        del record["moves"]
        return record
    record["moves"] = [move._asdict() for move in found.moves]
    for move in record["moves"] if names_moves(game) else ():
        move["name"] = move_text(game, move["move"])
    return record


def print_searches(game: "Game", found: Iterable["Searched"], *, as_json: bool) -> None:
    """Print the results of searches as they come: a line of CSV each, or an object of JSON."""
    output_as_in_a_file()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    for number, each in enumerate(found):
        record = searched_record(game, each)
        if as_json:
            print(json.dumps(record))
        else:
            if number == 0:
                writer.writerow(record)
            writer.writerow(
                json.dumps(cell) if name == "moves" else cell for name, cell in record.items()
            )
        sys.stdout.flush()


def print_line(game: "Game | None", line: "Line", namer: "Namer", *, bound: bool = False) -> None:
    """Print the positions of a line of best play; the arguments are those of `print_probe`."""
    from graphstore.rules.game import move_text
    from graphstore.store.words import in_words

    for number, probe in enumerate(line.probes):
        move = move_text(namer, line.moves[number - 1]) if number else ""
        worth = in_words(game, probe, bound=bound)
        print(visible(f"{number:>3}  {move:>4}  {probe.position}  {worth}"))
    if line.repeats:
        print("the line repeats from here; play need never end")


def _cell(cell: Any) -> str:
    if cell is None:
        return ""
    return repr(cell) if isinstance(cell, float) else visible(str(_jsonable(cell)))


def _jsonable(value: Any) -> Any:
    """Return a value as JSON has it: bytes in hexadecimal, infinities and other types as texts."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if isinstance(value, int | str | None) else str(value)


def _distinct(names: Sequence[str]) -> list[str]:
    """Return distinct keys of an object: a second ``id`` becomes ``id_2``."""
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return result
