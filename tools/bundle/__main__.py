import sys

from tools.bundle.cli import main

sys.exit(main())
