import sys

from tools.registry_image.cli import main

sys.exit(main())
