#!/bin/sh
# Writes programs/flanneld/main.go: flannel's own, of the release that the set in the current
# folder names, less two backends that cannot be built: UDP wants cgo, Tencent's cloud
# an SDK that the module proxy has not.
set -eu
go mod download github.com/flannel-io/flannel
source=$(go list -m -f '{{.Dir}}' github.com/flannel-io/flannel)
mkdir -p ../programs/flanneld
sed '/backend\/\(tencentvpc\|udp\)"/d' "$source/main.go" >../programs/flanneld/main.go
