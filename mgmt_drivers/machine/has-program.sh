#!/bin/sh
# Whether all programs that are named are there.
for program in "$@"; do
    command -v "$program" || exit 1
done
