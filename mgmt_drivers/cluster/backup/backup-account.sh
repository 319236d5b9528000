#!/bin/sh
# Create the account $1, which logs in by SSH keys only, with the home $2, and give the account the
# folder $3. On the machine that wrote the folder the account may have had another number.
set -e
id -u "$1" >/dev/null 2>&1 ||
    useradd --system --no-create-home --home-dir "$2" --shell /bin/sh --password '*' "$1"
install -d -m 0755 "$2" "$2/.ssh"
install -d -m 0700 "$3"
chown -hR "$1" "$3"
