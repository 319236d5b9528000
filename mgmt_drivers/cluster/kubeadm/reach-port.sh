#!/bin/bash
# Open a connection to address $1, port $2.
exec 3<>"/dev/tcp/$1/$2"
