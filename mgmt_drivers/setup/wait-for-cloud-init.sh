#!/bin/bash
# Wait until cloud-init has ended, however it did. Its last act may be a reboot: a process of
# cloud-init's waits for the end, and then shuts the machine down, at once or later. Who waits here
# loses the connection then.
# Whether a shutdown is scheduled within ten minutes.
shuts_down() {
    local usec
    usec=$(sed -n 's/^USEC=//p' /run/systemd/shutdown/scheduled 2>/dev/null) || return 1
    [ -n "$usec" ] && [ $((usec / 1000000 - $(date +%s))) -lt 600 ]
}

# Whether systemd goes on: one that stops the machine says so, and soon answers nobody.
is_up() { systemctl is-system-running | grep -qxE 'initializing|starting|running|degraded|maintenance'; }

[ -e /run/cloud-init/result.json ] || cloud-init status --wait >/dev/null
while grep -qszx '[/]usr/bin/cloud-init' /proc/[0-9]*/cmdline || shuts_down || ! is_up; do
    sleep 1
done
