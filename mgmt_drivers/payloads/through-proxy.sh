#!/bin/bash
# Run a command with the variables of the file $1.
set -a
# shellcheck source=/dev/null
. "$1"
shift
exec "$@"
