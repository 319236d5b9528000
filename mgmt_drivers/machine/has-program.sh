#!/bin/sh
# Fail unless all named programs are installed.
for program in "$@"; do
    command -v "$program" || exit 1
done
