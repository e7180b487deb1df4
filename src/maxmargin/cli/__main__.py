"""So that `python -m maxmargin.cli` works where the command is not on the path."""

import sys

from maxmargin.cli.main import main

sys.exit(main())
