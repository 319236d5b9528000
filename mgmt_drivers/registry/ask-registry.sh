#!/bin/bash
# Print the first line of the answer from the registry on port $1; $2 is tls or plain.
# bash and openssl are on every machine; curl is not.
request='GET /v2/ HTTP/1.0\r\nHost: localhost\r\n\r\n'
if [ "$2" = tls ]; then
    printf '%b' "$request" |
        timeout 5 openssl s_client -quiet -connect "127.0.0.1:$1" 2>/dev/null
else
    exec 3<>"/dev/tcp/127.0.0.1/$1" && printf '%b' "$request" >&3 && timeout 5 cat <&3
fi | head -n 1
