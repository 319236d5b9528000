#!/bin/sh
# Whether the certificate of kubelet in file $1 is that of a node whose name ends with $2. The exit
# status is 0 if it is, 1 if it is another node's, and 2 if the certificate cannot be read.
subject=$(openssl x509 -noout -subject -in "$1") || exit 2
case $subject in
*-"$2") exit 0 ;;
*) exit 1 ;;
esac
