"""Read the command line, call the subcommand, turn its faults into one line and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from maxmargin import __version__
from maxmargin.cli import demo, info
from maxmargin.cli.errors import UsageError

USAGE, INTERRUPTED, BROKEN_PIPE = 2, 130, 141


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="maxmargin", description="Structured prediction with structural SVMs.")
    parser.add_argument("--version", action="version", version=f"maxmargin {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for module in (demo, info):
        module.add_to(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run `maxmargin` with these arguments (None means the process's) and return its exit code."""
    try:
        options = _parser().parse_args(argv)
        options.run(options)
        sys.stdout.flush()
    except UsageError as error:
        print(f"maxmargin: error: {error}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        print("maxmargin: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # as in `maxmargin info | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    return 0
