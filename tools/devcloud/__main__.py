import sys

from tools.devcloud.cli import main

sys.exit(main())
