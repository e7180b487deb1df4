"""The command `maxmargin`: one module a subcommand."""

from maxmargin.cli.main import main

__all__ = ["main"]
