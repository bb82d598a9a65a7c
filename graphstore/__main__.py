"""Run the command line as ``python -m graphstore``."""

from graphstore.cli import main

main()
