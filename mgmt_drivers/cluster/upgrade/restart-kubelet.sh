#!/bin/sh
# Run the arguments, which restrict the files that the package of kubelet has brought; then restart
# kubelet with its new unit.
set -e
"$@"
systemctl daemon-reload
systemctl restart kubelet
