"""The command line: the list of commands, and how an error ends one."""

import os
import signal
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import Any

import click

from graphstore.cli import options
from graphstore.cli.asking import line, show, sql, stats
from graphstore.cli.building import build, check, estimate, games, load, prove, solve
from graphstore.cli.checking import diff, upgrade, verify
from graphstore.cli.drawing import draw
from graphstore.cli.exporting import export
from graphstore.cli.playing import agents, play, train
from graphstore.cli.serving import serve
from graphstore.errors import GraphstoreError


def main() -> None:
    """Run a command; exit 0 if it went well, 1 on an error, 2 on wrong usage, 130 on Ctrl-C.

    SIGTERM is as Ctrl-C: drafts are removed, and what was started is ended.
    """
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        with suppress(ValueError):  # not in the main thread, which alone has signals
            signal.signal(signal.SIGTERM, signal.default_int_handler)
    if sys.stdout is None:  # closed, as by >&-
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # for good
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        cli.main(prog_name="graphstore", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.UsageError as error:
        command = "graphstore" if error.ctx is None else error.ctx.command_path
        options.fail(f"{error.format_message().rstrip('.')} (see {command} -h)", error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        options.fail("interrupted", 130)
    except BrokenPipeError:  # the reader has seen enough, as `head` does
        drop_output()
        sys.exit(141)
    except (GraphstoreError, click.ClickException) as error:
        options.fail(str(error))
    except OSError as error:  # errors of databases and files are a GraphstoreError
        drop_output()
        options.fail(f"standard input or output: {error.strerror or error}")
    except MemoryError:
        options.fail(
            "not enough memory; build it with --out-of-core, or bound it with --max-states"
        )
    except Exception as error:
        if os.environ.get("GRAPHSTORE_DEBUG"):
            raise
        options.fail(f"a bug: {type(error).__name__}: {error}; GRAPHSTORE_DEBUG=1 shows where")


def drop_output() -> None:
    """Drop what is not yet written, or the interpreter would try again, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Commands(click.Group):
    """Commands that leave Ctrl-C and a closed pipe to `main`."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return their names in the order in which people need them, not by letter."""
        return list(self.commands)

    def invoke(self, context: click.Context) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(context)
        except KeyboardInterrupt:
            raise click.Abort from None  # click would print an empty line before
        except BrokenPipeError:
            drop_output()
            sys.exit(141)  # click would exit with 1


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="graphstore", message="graphstore %(version)s")
def cli() -> None:
    """Every position of a small game, solved, in a database you can query.

    \b
    graphstore build tictactoe
    graphstore show tictactoe.db XO./.X./...
    graphstore sql tictactoe.db "SELECT ply, count(*) FROM state GROUP BY ply"
    """  # noqa: D301  # click takes this very character to mean: leave these lines alone


for command in (
    *(games, build, load, prove, estimate, check, solve),
    *(show, line, draw, serve, sql, stats),
    *(play, train, agents),
    *(verify, diff, upgrade, export),
):
    cli.add_command(command)
