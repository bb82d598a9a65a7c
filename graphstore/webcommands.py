"""The command that serves: the browser explorer."""

import click

from graphstore.options import RULES, opened


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8001,
    show_default=True,
    help="0: any free one.",
)
@RULES
def serve(files: tuple[str, ...], host: str, port: int, rules: str | None) -> None:
    """Open FILEs in the browser: boards, moves, tables and SQL."""
    import uvicorn

    from graphstore.web.application import application

    stores = [opened(file, rules) for file in files]
    uvicorn.run(application(stores).app(), host=host, port=port, log_level="warning")
