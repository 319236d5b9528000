"""Archives of a VNF package."""

import lzma
import tarfile
import zlib

# What tarfile and the decompressors raise for a broken archive.
BROKEN = (
    tarfile.TarError, EOFError, KeyError, OSError, RecursionError, TypeError, ValueError,
    lzma.LZMAError, zlib.error,
)  # fmt: skip
