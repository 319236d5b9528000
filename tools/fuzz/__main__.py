import sys

from tools.fuzz.cli import main

sys.exit(main())
