import sys

from tools.cloud_image.cli import main

sys.exit(main())
