#!/bin/sh
# Set what kubelet wants of the kernel, now and whenever the machine starts. A kubelet that protects the
# kernel's defaults changes nothing itself, and does not start if a value differs.
set -e
file=/etc/sysctl.d/90-kubelet.conf
cat >"$file.new" <<EOF
vm.overcommit_memory = 1
vm.panic_on_oom = 0
kernel.panic = 10
kernel.panic_on_oops = 1
kernel.keys.root_maxkeys = 1000000
kernel.keys.root_maxbytes = 25000000
EOF
mv "$file.new" "$file"
while read -r name _ value; do
    path=/proc/sys/$(echo "$name" | tr . /)
    if [ "$(cat "$path")" != "$value" ] && ! echo "$value" >"$path"; then
        echo "the machine's kernel does not let $name be $value" >&2
        exit 1
    fi
done <"$file"
