#!/bin/bash
# Stands for a script of the older kind, which gets what it is to do as arguments and makes a whole
# cluster: the drivers must never run it.
masters="" worker=""
while getopts m:w:i:a:p:t:s:k: option; do
    case $option in
    m) masters=$OPTARG ;;
    w) worker=$OPTARG ;;
    *) ;;
    esac
done
if [ -z "$masters$worker" ]; then
    echo "neither a master nor a worker" >&2
    exit 255
fi
