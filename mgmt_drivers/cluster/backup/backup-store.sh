#!/bin/bash
# Keep backups of etcd in the folder $1, which belongs to the user who runs this and is nobody else's.
# What is wanted is $2, or what the holder of an SSH key with this forced command wants:
#   list           the names of the backups, the newest last
#   save NAME N    read a backup from standard input, check it, and keep no more than N
#   read NAME      write a backup to standard output
# What was saved stays as it is, and the backup of NAME is never removed when it is saved.
set -euo pipefail
umask 077
folder=$1
read -r verb name number _ <<<"${SSH_ORIGINAL_COMMAND-${2-}} - -"
form='^etcd-[0-9]{8}T[0-9]{6}Z-v[0-9.]+-[a-z0-9-]+\.tar\.gz$'

list() {
    [ ! -d "$folder" ] || find "$folder" -maxdepth 1 -type f -printf '%f\n' |
        { grep -E "$form" || true; } | LC_ALL=C sort
}

save() {
    mkdir -p "$folder"
    if [ "$(stat -c '%u %a' "$folder")" != "$(id -u) 700" ]; then
        echo "$folder is not of mode 0700 and its owner's, $(id -un)" >&2
        exit 1
    fi
    exec 9>"$folder/.lock"
    flock 9
    rm -f "$folder"/.new.*
    new=$(mktemp "$folder/.new.XXXXXX")
    trap 'rm -f "$new"' EXIT
    cat >"$new"
    # Where the disk is full or the connection broke, something is missing at its end.
    tar --list --gzip --file "$new" >/dev/null
    sync "$new"
    mv "$new" "$folder/$name"
    sync "$folder"
    list | { grep -vxF "$name" || true; } | head -n "-$((number - 1))" | while read -r old; do
        rm -f "$folder/$old"
    done
}

case $verb in
list) list ;;
save | read)
    if ! [[ $name =~ $form ]] || { [ "$verb" = save ] && ! [[ $number =~ ^[1-9][0-9]{0,2}$ ]]; }; then
        echo "no name of a backup, or no number" >&2
        exit 1
    fi
    if [ "$verb" = save ]; then save; else cat "$folder/$name"; fi
    ;;
*)
    echo "list, save or read is wanted" >&2
    exit 1
    ;;
esac
