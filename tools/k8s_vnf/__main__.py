import sys

from tools.k8s_vnf.app import main

sys.exit(main())
