"""The command line."""

import sys

from tools.monitoring.cli import main

if __name__ == "__main__":
    sys.exit(main())
