#!/bin/sh
# Run the gate's playbooks on the embedded cloud of this checkout, which must be up.
set -eu
here=$(dirname "$(readlink -f "$0")")
cd "$here/../../.."
variables=$(python3 -m tools.devcloud openrc)
eval "$variables"
name='from tools.devcloud.identity import Identity; print(Identity().controller)'
DEVCLOUD_CONTROLLER=$(python3 -c "$name")
export DEVCLOUD_CONTROLLER
for playbook in "$@"; do
    ansible-playbook --inventory "$here/inventory.yaml" --extra-vars "@$here/variables.yaml" \
        "zuul.d/playbooks/$playbook"
done
