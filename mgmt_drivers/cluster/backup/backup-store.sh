#!/bin/bash
# Keep backups of etcd in the folder $1 for the node $2, $3 of each node. The folder belongs to the
# user who runs this, and to nobody else. The request is $4, or that of the holder of the SSH key
# which has this as its forced command:
#   list              print the names of the backups, by their times
#   save RELEASE KEY  read a backup from standard input, check it, name it, and keep it
#   read NAME         write a backup to standard output
# The name has the time of this machine's clock, and the node's name from the SSH key. No backup is
# ever replaced, and a node only removes its own old ones and those of nodes that are gone.
set -euo pipefail
umask 077
folder=$1 node=$2 keep=$3
read -r verb word key _ <<<"${SSH_ORIGINAL_COMMAND-${4-}} - - -"
release='v[0-9]{1,3}(\.[0-9]{1,3}){2}'
form="^etcd-[0-9]{8}T[0-9]{6}Z-$release-[0-9a-f]{8}-master-[0-9a-f]{12}\.tar\$"

fail() {
    echo "$*" >&2
    exit 1
}

list() {
    [ ! -d "$folder" ] || find "$folder" -maxdepth 1 -type f -printf '%f\n' |
        { grep -E "$form" || true; } | LC_ALL=C sort
}

# The oldest first; names from the future, made when this machine's clock was wrong, count as older.
in_order() {
    awk -v now="$(date --utc +%Y%m%dT%H%M%SZ)" '{ print (substr($0, 6, 16) <= now), $0 }' |
        LC_ALL=C sort | cut -d ' ' -f 2
}

# Of each node the newest stays longest.
remove_old() {
    in_order | tac | awk '{ node = $0; sub(/.*-master-/, "", node); printf "%06d %s\n", n[node]++, $0 }' |
        LC_ALL=C sort -s -k 1,1 | tail -n "+$((keep + 1))" | cut -d ' ' -f 2 | while read -r old; do
        rm -f "$folder/$old"
    done
}

# The nodes that may log in.
nodes() {
    echo "$node"
    local keys=${HOME:-/root}/.ssh/authorized_keys
    [ ! -f "$keys" ] || sed 's/.* //' "$keys"
}

save() {
    mkdir -p "$folder"
    [ "$(stat -c '%u %a' "$folder")" = "$(id -u) 700" ] ||
        fail "$folder must have the mode 0700 and belong to $(id -un)"
    # A node holds up no other node.
    exec 9>"$folder/.$node.lock"
    flock --nonblock 9 || fail "another backup of $node is being saved"
    new=$folder/.new.$node
    rm -f "$new"
    # What saves of nodes that are gone have left; a save takes no more than 15 minutes.
    find "$folder" -maxdepth 1 -name '.new.*' -mmin +60 -delete
    trap 'rm -f "$new"' EXIT
    # A node leaves half of the space, with what the node has already, to the others.
    space=$(df --output=avail --block-size=1 "$folder" | tail -n 1)
    used=$(find "$folder" -maxdepth 1 -name "*-$node.tar" -printf '%s\n' |
        awk '{ sum += $1 } END { printf "%.0f", sum }')
    limit=$(((space + used) / 2 - used))
    full="the backups of $node take up half of the space: give it more"
    [ "$limit" -gt 0 ] || fail "$full"
    timeout 900 head --bytes="$limit" >"$new"
    [ "$(stat -c %s "$new")" -lt "$limit" ] || fail "$full"
    # If the connection broke, the end is missing, which tar's status tells. A node may have sent names
    # without end, or one that is as large as the disk.
    listed=$(ulimit -v 500000 && tar --list --file - <"$new" | head --bytes=1000) ||
        fail "the backup is not whole"
    [ "$listed" = $'manifest.json\nmanifest.json.sig\npassword.enc\ndata.enc' ] ||
        fail "the backup is not whole"
    sync "$new"
    ln "$new" "$folder/etcd-$(date --utc +%Y%m%dT%H%M%SZ)-$word-$key-$node.tar"
    rm -f "$new"
    sync "$folder"
    list | { grep -F -e "-$node.tar" || true; } | remove_old
    list | { grep -vF -e "$(nodes | sed 's/.*/-&.tar/')" || true; } | remove_old
}

case $verb in
list) list ;;
save)
    [[ $word =~ ^$release$ && $key =~ ^[0-9a-f]{8}$ ]] || fail "not a release and a key"
    save
    ;;
read)
    [[ $word =~ $form ]] || fail "not the name of a backup"
    cat "$folder/$word"
    ;;
*) fail "list, save or read is expected" ;;
esac
