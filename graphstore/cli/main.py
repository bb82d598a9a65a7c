"""The list of commands, and the exit codes of errors."""

import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from io import TextIOWrapper
from typing import Any, TextIO, cast

import click

from graphstore.cli import options
from graphstore.cli.building import book, build, check, estimate, games, load, outcome, prove, solve
from graphstore.cli.checking import diff, upgrade, verify
from graphstore.cli.drawing import draw
from graphstore.cli.exporting import export
from graphstore.cli.playing import agents, play, train
from graphstore.cli.queries import line, show, sql, stats
from graphstore.cli.serving import serve
from graphstore.errors import GraphstoreError, MemoryLimitError
from graphstore.util.extras import short_of_memory
from graphstore.util.files import WINDOWS
from graphstore.util.output import DataOutput


def main() -> None:
    """Run a command and exit.

    The exit code is 0 for success, 1 for an error, 2 for wrong usage, 130 for Ctrl-C and 141 for a
    closed pipe. SIGTERM acts like Ctrl-C: drafts are removed and child processes are ended.
    """
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        with suppress(ValueError):  # only the main thread can set signal handlers
            signal.signal(signal.SIGTERM, signal.default_int_handler)
    if sys.stdout is None:  # closed, as by >&-
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # it stays open
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with options.notes_printed(), redirect_stdout(cast(TextIO, DataOutput(sys.stdout))):
            cli.main(prog_name="graphstore", standalone_mode=False)
            sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.UsageError as error:
        command = "graphstore" if error.ctx is None else error.ctx.command_path
        text = error.format_message().rstrip(".")
        if isinstance(error, click.NoSuchOption):
            text += "; write -- before a position that begins with -"
        options.fail(f"{text} (see {command} -h)", error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        options.fail("interrupted", 130)
    except BrokenPipeError:  # the reader closed the pipe, as `head` does
        drop_output()
        sys.exit(141)
    except MemoryLimitError as error:
        options.fail_at_once(str(error))
    except (GraphstoreError, click.ClickException) as error:
        options.fail(f"{error}; {_NO_FOLDER}" if _without_folder() else str(error))
    except Exception as error:
        if short_of_memory(error):
            options.fail_at_once(
                "not enough memory; end other programs, or raise the limit (ulimit -v)"
            )
        if _without_folder():
            options.fail(_NO_FOLDER)
        if isinstance(error, OSError):  # databases and files raise a GraphstoreError
            drop_output()
            if WINDOWS and error.errno == errno.EINVAL:  # its error of a closed pipe
                sys.exit(141)
            where = error.filename or "cannot read standard input or write standard output"
            options.fail(f"{where}: {error.strerror or error}")
        if os.environ.get("GRAPHSTORE_DEBUG"):
            raise
        options.fail(
            f"a bug: {type(error).__name__}: {error}; set GRAPHSTORE_DEBUG=1 for a traceback"
        )


_NO_FOLDER = "the working folder does not exist any more; change to another folder"


def _without_folder() -> bool:
    """Return whether the working folder was removed."""
    try:
        os.getcwd()
    except OSError:
        return True
    return False


def drop_output() -> None:
    """Discard unwritten output, so that the interpreter does not fail to write it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Commands(click.Group):
    """A group of commands that leaves Ctrl-C and a closed pipe to `main`."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names of the commands in the order of use, not of the alphabet."""
        return list(self.commands)

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Read the command line."""
        with _left_to_main():
            return super().make_context(*arguments, **options)

    def invoke(self, context: click.Context) -> Any:
        """Run the command that the user named."""
        with _left_to_main():
            return super().invoke(context)


@contextmanager
def _left_to_main() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise click.Abort from None  # click would print an empty line first
    except BrokenPipeError:
        drop_output()
        sys.exit(141)  # click would exit with 1


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="graphstore", message="graphstore %(version)s")
def cli() -> None:
    """Solve small two-player games and query every position in a database.

    \b
    graphstore build tictactoe
    graphstore show tictactoe.db XO./.X./...
    graphstore sql tictactoe.db "SELECT ply, count(*) FROM state GROUP BY ply"

    GAME is a built-in game or your own rules, FILE a database that `graphstore build` wrote,
    POSITION a board. `graphstore COMMAND -h` explains a command. Exit codes: 0 success, 1 error, 2
    wrong usage, 130 interrupted.
    """  # noqa: D301  # click keeps the lines after this character as they are


for command in (
    *(games, build, book, load, prove, estimate, check, solve, outcome),
    *(show, line, draw, serve, sql, stats),
    *(play, train, agents),
    *(verify, diff, upgrade, export),
):
    cli.add_command(command)
