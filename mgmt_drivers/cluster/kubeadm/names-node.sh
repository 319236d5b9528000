#!/bin/sh
# Whether the certificate of kubelet in file $1 is that of a node whose name ends with $2.
openssl x509 -noout -subject -in "$1" | grep -q -- "-$2\$"
