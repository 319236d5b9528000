#!/bin/sh
# runc for hosts that give containers no CAP_SYS_RESOURCE; elsewhere it is plain runc.
#
# Without that capability nothing may lower its oom_score_adj, which kubelet asks
# for each pod, nor may a capability be passed on that one does not have.
#
# A runtime calls it some five times for each container, so it is no Python, whose
# start cost a tenth of two CPUs while clusters came up. sed may edit the JSON: in a
# string a quote is written \", so the key that it looks for is nothing but a key.
set -eu

is_capable() {
    while read -r name value; do
        [ "$name" = CapBnd: ] && break
    done </proc/self/status
    [ $((0x$value >> 24 & 1)) = 1 ] # its number, in linux/capability.h
}

lower() {
    sed -i -E '
        s/"oomScoreAdj": *-?[0-9]+, *//
        s/, *"oomScoreAdj": *-?[0-9]+//
        s/"CAP_SYS_RESOURCE", *//g
        s/,? *"CAP_SYS_RESOURCE"//g
    ' "$1"
}

edit() {
    command='' bundle=. process='' option=''
    for word; do
        case $option in
        bundle) bundle=$word ;;
        process) process=$word ;;
        esac
        option=''
        case $word in
        create | run | exec) command=${command:-$word} ;;
        --bundle | -b) option=bundle ;;
        --bundle=*) bundle=${word#*=} ;;
        --process | -p) option=process ;;
        --process=*) process=${word#*=} ;;
        esac
    done
    case $command in
    create | run) lower "$bundle/config.json" ;;
    exec) [ -z "$process" ] || lower "$process" ;;
    esac
}

is_capable || edit "$@"
exec /usr/sbin/runc.real "$@"
