"""A match at the keyboard or from a list of moves."""

import sys
from collections.abc import Sequence
from io import TextIOWrapper

from rich.console import Console
from rich.text import Text

from graphstore.cli.boards import board_in_play, print_hint
from graphstore.errors import GameOverError, MoveError
from graphstore.play.match import LISTED, PERSON, Match
from graphstore.rules.game import DRAW, LOSS, WIN

COMMANDS = {
    "u": "undo",
    "h": "hint",
    "?": "help",
    "q": "quit",
    **{word: word for word in ("undo", "hint", "resign", "board", "moves", "help", "quit")},
}
HELP = """\
a move      its number, or its name if it has one: {examples}
undo, u     take your last move back
hint, h     list the moves with their results, best first
moves       list the legal moves
board       draw the board again
resign      resign the game
quit, q     leave the game unfinished, as does the end of input (Ctrl-D)"""
ECHOED = 60  # characters of a line from a pipe


def play_at_keyboard(match: Match, console: Console) -> None:
    """Play until the match is over or the user leaves it unfinished."""
    if isinstance(sys.stdin, TextIOWrapper):
        encoding = None if sys.stdin.isatty() else "utf-8-sig"
        sys.stdin.reconfigure(encoding=encoding, errors="backslashreplace")
    try:
        while _play_machines(match, console) and _play_command(match, console):
            pass
    except KeyboardInterrupt:
        console.file.write("\n")  # so that the error message begins a line
        raise
    _print_result(match, console)


def play_through(match: Match, moves: Sequence[str], console: Console) -> None:
    """Play the user's moves from a list, and print the match when all of them are played.

    Raises:
        MoveError: a move cannot be read or is not legal.
        GameOverError: the match is over before the last move of the list.
    """
    played = 0
    with console.capture() as printed:
        while _play_machines(match, console) and played < len(moves):
            console.print(f"{match.name_of(match.player)}, your move: {moves[played]}")
            try:
                match.play(moves[played])
            except MoveError as error:
                raise MoveError(f"move {played + 1} of the list: {error}") from error
            played += 1
        _print_result(match, console)
    if played < len(moves):
        raise GameOverError(
            f"the game was over before move {played + 1} of the list, {moves[played]}"
        )
    console.file.write(printed.get())


def _play_machines(match: Match, console: Console) -> bool:
    """Let machines move until it is the user's turn, and draw the board.

    Return False if the match is over.
    """
    watched = PERSON not in match.opponents
    if watched and not match.turns:
        _draw(match, console)
    while not match.over and match.by != PERSON:
        turn = match.reply()
        if turn is None:
            console.print(f"the box of {match.by} is empty")
            break
        console.print(f"{match.name_of(turn.player)} plays {turn.name}")
        if turn.unsure and turn.by != "random":
            console.print(f"{turn.by} is not sure: the search of this position did not end in time")
        if watched:
            _draw(match, console)
    if not match.over:
        _draw(match, console)
    return not match.over


def _play_command(match: Match, console: Console) -> bool:
    """Read commands until the user has moved, taken back or resigned; return False to quit."""
    while True:
        line = _read_line(f"{match.name_of(match.player)}, your move (? for help): ", console)
        if line is None:
            return False
        word = line.strip()
        is_name = word in {match.name(move) for move in match.probe.moves}
        command = None if is_name else COMMANDS.get(word.lower())
        try:
            if command == "quit":
                return False
            if command == "undo":
                taken = match.undo()
                console.print(f"taken back: {', '.join(turn.name for turn in taken)}")
                return True
            if command == "resign":
                match.resign()
                return True
            if command == "hint":
                print_hint(console, match)
            elif command == "board":
                _draw(match, console)
            elif command == "moves":
                console.print(" ".join(_names(match)))
            elif command == "help":
                console.print(HELP.format(examples=" ".join(_names(match)[:3])))
            elif word.startswith((r"\xff\xfe", r"\xfe\xff")):
                raise MoveError("standard input is UTF-16; save it as UTF-8")
            elif word:
                match.play(word)
                return True
        except MoveError as error:
            console.print(Text(str(error)))


def _read_line(prompt: str, console: Console) -> str | None:
    """Print a prompt and return the next line of standard input, None at its end."""
    console.file.write(prompt)
    console.file.flush()
    line = "" if sys.stdin is None else sys.stdin.readline()
    if not line or not sys.stdin.isatty():  # a terminal shows what is typed; a pipe does not
        console.print("".join(filter(str.isprintable, line[:ECHOED])))
    return line or None


def _draw(match: Match, console: Console) -> None:
    """Draw the board; if it shows no numbers, also list the moves, up to `LISTED`."""
    if match.turns:
        console.print()
    console.print(board_in_play(match))
    numbered = match.game is not None and match.game.shape is not None
    if not numbered and not match.over:
        names = _names(match)
        few = f"moves: {' '.join(names)}"
        console.print(
            few if len(names) <= LISTED else f"{len(names)} moves; type moves to list them"
        )
    console.print()


def _names(match: Match) -> list[str]:
    """Return the names of the legal moves, in the order of their numbers."""
    return [match.name(move) for move in sorted(match.probe.moves, key=lambda move: move.move)]


def _print_result(match: Match, console: Console) -> None:
    """Print the result of the match, and each user's first move that gave a better one away."""
    result = match.result
    mover = match.name_of(match.player)
    if match.over and match.probe.ended and PERSON in match.opponents:
        _draw(match, console)
    console.print(
        {
            "won": f"{result.who} has won",
            "drawn": "drawn",
            "repetition": "drawn: the same position for the third time",
            "resigned": f"{mover} resigns: {result.who} has won",
            "unfinished": f"unfinished: {mover} to move",
        }[result.how]
    )
    for player, opponent in enumerate(match.opponents, 1):
        mistake = match.first_mistake(player)
        if opponent == PERSON and match.over and mistake is not None:
            got = DRAW if result.winner is None else WIN if result.winner == player else LOSS
            if got < mistake.before.value:
                worth = "win" if mistake.before.value == WIN else "draw"
                best = " ".join(match.name(move) for move in mistake.before.best)
                where = f"move {mistake.number} was {mistake.name}; best: {best}"
                console.print(f"{match.name_of(player)} gave away a {worth}: {where}")
