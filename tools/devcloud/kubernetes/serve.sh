#!/bin/sh
# First process of the mirror's container.
exec python3 -m http.server --directory /srv/mirror 80
