#!/bin/bash
# Print how many milliseconds the disk below the folder $1, which need not exist yet, needs to keep a
# write: the median of 50, or of as many as two seconds allow. Each is what etcd's write-ahead log
# makes (etcd's documentation, "Hardware recommendations"): 2300 bytes, then fdatasync, in a file
# whose space is reserved. The file has no name.
folder=$1
until [ -d "$folder" ]; do
    folder=$(dirname "$folder")
done
exec python3 - "$folder" <<'END'
import os, statistics, sys, tempfile, time

COUNT, SIZE = 50, 2300
times = []
with tempfile.TemporaryFile(dir=sys.argv[1], buffering=0) as file:
    os.posix_fallocate(file.fileno(), 0, COUNT * SIZE)
    end = time.monotonic() + 2
    while len(times) < COUNT and (not times or time.monotonic() < end):
        begin = time.monotonic()
        file.write(bytes(SIZE))
        os.fdatasync(file.fileno())
        times.append(time.monotonic() - begin)
print(f"{1000 * statistics.median(times):.1f}")
END
