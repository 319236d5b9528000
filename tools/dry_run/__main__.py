import sys

from tools.dry_run.cli import main

sys.exit(main())
