#!/bin/sh
# Run the gate's playbooks on the embedded cloud: on that of this checkout, which must be up, or on
# the one whose controller is DEVCLOUD_CONTROLLER, and for whose user the shell has the variables.
set -eu
here=$(dirname "$(readlink -f "$0")")
cd "$here/../../.."
if [ -z "${DEVCLOUD_CONTROLLER-}" ]; then
    variables=$(python3 -m tools.k8s_vnf cloud openrc)
    eval "$variables"
    name='from tools.devcloud.identity import Identity; print(Identity().controller)'
    DEVCLOUD_CONTROLLER=$(python3 -c "$name")
    export DEVCLOUD_CONTROLLER
fi
# In the place of the roles of Zuul's library: the machine has what they make.
ANSIBLE_ROLES_PATH=$here/roles
export ANSIBLE_ROLES_PATH
for playbook in "$@"; do
    ansible-playbook --inventory "$here/inventory.yaml" --extra-vars "@$here/variables.yaml" \
        "zuul.d/playbooks/$playbook"
done
