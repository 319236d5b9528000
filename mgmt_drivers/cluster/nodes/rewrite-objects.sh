#!/bin/bash
# Write all objects of the kind $1 again as they are. kubectl and its options follow. An object that
# somebody changes or deletes meanwhile is refused: then all are read and written once more.
set -uo pipefail
kind=$1
shift
for _ in {1..5}; do
    # Nothing but errors, since objects may be secret.
    errors=$("$@" get "$kind" --all-namespaces --output json |
        "$@" replace --filename - 2>&1 >/dev/null) && exit
done
tail -n 3 <<<"$errors" >&2
exit 1
