"""So that `python -m maxmargin` works where the command is not on the path."""

import sys

from maxmargin.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
