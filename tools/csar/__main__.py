import sys

from tools.csar.cli import main

sys.exit(main())
