#!/bin/bash
# Wait until cloud-init has ended, however it did. Its last act may be a reboot: a process of
# cloud-init's waits for the end, and then shuts the machine down, at once or later. Who waits here
# loses the connection then.
[ -e /run/cloud-init/result.json ] || cloud-init status --wait >/dev/null
while grep -qszx '[/]usr/bin/cloud-init' /proc/[0-9]*/cmdline ||
    [ -e /run/systemd/shutdown/scheduled ] || [ "$(systemctl is-system-running)" = stopping ]; do
    sleep 1
done
