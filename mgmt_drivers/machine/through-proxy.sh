#!/bin/bash
# Run a command with the variables of the file $1, also by their names in lower case, since some
# programs read no others.
set -a
# shellcheck source=/dev/null
. "$1"
export http_proxy=${HTTP_PROXY-} https_proxy=${HTTPS_PROXY-} no_proxy=${NO_PROXY-}
shift
exec "$@"
