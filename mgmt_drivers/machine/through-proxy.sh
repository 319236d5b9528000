#!/bin/bash
# Run a command with the variables of the file $1, also by the names in lower case that some
# programs know alone.
set -a
# shellcheck source=/dev/null
. "$1"
export http_proxy=${HTTP_PROXY-} https_proxy=${HTTPS_PROXY-} no_proxy=${NO_PROXY-}
shift
exec "$@"
