#!/bin/sh
# Print the path of each given file that exists, and below it the certificates in the file (PEM), of
# a kubeconfig the embedded one. The private keys beside them stay on the machine.
for path; do
    [ -e "$path" ] || continue
    echo "$path"
    case $path in
    *.conf) sed -n '/client-certificate-data:/ { s/.*: *//p; q }' "$path" | base64 -d ;;
    *) cat "$path" ;;
    esac | sed -n '/^-----BEGIN CERTIFICATE-----/,/^-----END CERTIFICATE-----/p'
done
