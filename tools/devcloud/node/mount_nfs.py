"""Mounts NFS 4 where the kernel cannot: libnfs speaks with the server, FUSE with the kernel.

Run as ``mount_nfs.py SERVER:EXPORT FOLDER [-o OPTIONS]``; of the options ``ro`` alone counts. Each
request carries user and group of the process that asks, and the server decides. Supplementary
groups are not sent, and locks count on this machine alone. While the server is away, who asks
waits, as with the kernel's own client.
"""

import contextlib
import ctypes
import ctypes.util
import errno
import os
import sys
import time
from collections.abc import Callable
from typing import TypeVar

import fuse

fuse.fuse_python_api = (0, 2)

_T = TypeVar("_T")

_VERSION = 4  # which needs one port of the server
# Longer than the 90 seconds in which a server that has booted gives its earlier clients precedence.
_LIMIT = 150
# What libnfs makes of a server that does not know this client any more, or not yet.
_LOST = {errno.EAGAIN, errno.EIO, errno.ERANGE}

_Pointer, _Text, _Number, _Size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint64
# Arguments of libnfs's functions, after the connection.
_FUNCTIONS: dict[str, tuple[type, ...]] = {
    "nfs_chmod": (_Text, _Number),
    "nfs_close": (_Pointer,),
    "nfs_closedir": (_Pointer,),
    "nfs_destroy_context": (),
    "nfs_fsync": (_Pointer,),
    "nfs_ftruncate": (_Pointer, _Size),
    "nfs_get_error": (),
    "nfs_lchown": (_Text, _Number, _Number),
    "nfs_link": (_Text, _Text),
    "nfs_lstat64": (_Text, _Pointer),
    "nfs_mkdir2": (_Text, _Number),
    "nfs_mount": (_Text, _Text),
    "nfs_open2": (_Text, _Number, _Number, _Pointer),
    "nfs_opendir": (_Text, _Pointer),
    "nfs_pread": (_Pointer, _Size, _Size, _Pointer),
    "nfs_pwrite": (_Pointer, _Size, _Size, _Text),
    "nfs_readdir": (_Pointer,),
    "nfs_readlink": (_Text, _Pointer, _Number),
    "nfs_rename": (_Text, _Text),
    "nfs_rmdir": (_Text,),
    "nfs_set_gid": (_Number,),
    "nfs_set_uid": (_Number,),
    "nfs_set_version": (_Number,),
    "nfs_symlink": (_Text, _Text),
    "nfs_truncate": (_Text, _Size),
    "nfs_unlink": (_Text,),
    "nfs_utimes": (_Text, _Pointer),
}


class _Attributes(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_uint64)
        for name in (
            "dev", "ino", "mode", "nlink", "uid", "gid", "rdev", "size", "blksize", "blocks",
            "atime", "mtime", "ctime", "atime_nsec", "mtime_nsec", "ctime_nsec", "used",
        )
    ]  # fmt: skip


class _Entry(ctypes.Structure):
    """The beginning of an entry of a folder."""

    _fields_ = [("next", ctypes.c_void_p), ("name", ctypes.c_char_p)]


class _Time(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("microseconds", ctypes.c_long)]


def _load() -> ctypes.CDLL:
    library = ctypes.CDLL(ctypes.util.find_library("nfs"))
    for name, arguments in _FUNCTIONS.items():
        getattr(library, name).argtypes = (ctypes.c_void_p, *arguments)
    library.nfs_init_context.restype = ctypes.c_void_p
    library.nfs_get_error.restype = ctypes.c_char_p
    library.nfs_readdir.restype = ctypes.POINTER(_Entry)
    return library


_NFS = _load()


class _File:
    """An open file: libnfs's handle, and the connection that knows it."""

    def __init__(self, path: str, flags: int) -> None:
        self.path, self.flags = path, flags & os.O_ACCMODE
        self.handle = ctypes.c_void_p()
        self.connection: int | None = None


class _Mount(fuse.Fuse):
    """The methods that FUSE calls; see its struct fuse_operations."""

    def __init__(self, source: str, folder: str, *options: str) -> None:
        super().__init__()
        self._server, _, self._export = source.partition(":")
        self._connection: int | None = None
        self.multithreaded = False  # as is libnfs
        self.fuse_args.mountpoint = folder
        for option in ("allow_other", "nonempty", "use_ino", *options):
            self.fuse_args.add(option)
        # Other machines change the files, too.
        for name in ("attr_timeout", "entry_timeout"):
            self.fuse_args.add(name, "0")
        self.fuse_args.add("fsname", source)
        self.fuse_args.add("subtype", "nfs")

    def connect(self) -> None:
        """:raises OSError: with the server's error"""
        new = _NFS.nfs_init_context()
        _NFS.nfs_set_version(new, _VERSION)
        if _NFS.nfs_mount(new, os.fsencode(self._server), os.fsencode(self._export)) < 0:
            text = os.fsdecode(_NFS.nfs_get_error(new) or b"no answer")
            _NFS.nfs_destroy_context(new)
            raise OSError(errno.EIO, text)
        if self._connection is not None:
            _NFS.nfs_destroy_context(self._connection)
        self._connection = new

    def _call(self, function: str, *arguments: object) -> int:
        """Call a function for the process that FUSE asks for."""
        who = self.GetContext()
        _NFS.nfs_set_uid(self._connection, who["uid"])
        _NFS.nfs_set_gid(self._connection, who["gid"])
        texts = (os.fsencode(value) if isinstance(value, str) else value for value in arguments)
        status = int(getattr(_NFS, function)(self._connection, *texts))
        if status < 0:
            raise OSError(-status, os.strerror(-status))
        return status

    def _persist(self, attempt: Callable[[], _T]) -> _T:
        """Try until the server knows this client."""
        end = time.monotonic() + _LIMIT
        while True:
            try:
                return attempt()
            except OSError as error:
                if error.errno not in _LOST or time.monotonic() > end:
                    raise
            time.sleep(1)
            with contextlib.suppress(OSError):
                self.connect()

    def _ask(self, function: str, *arguments: object) -> int:
        return self._persist(lambda: self._call(function, *arguments))

    def _open(self, file: _File, flags: int = 0, mode: int = 0) -> None:
        place = ctypes.byref(file.handle)
        self._call("nfs_open2", file.path, file.flags | flags, mode, place)
        file.connection = self._connection

    def _ask_of(self, file: _File, function: str, *arguments: object) -> int:
        """Call a function of an open file, which a new connection has to open again."""

        def attempt() -> int:
            if file.connection != self._connection:
                self._open(file)
            return self._call(function, file.handle, *arguments)

        return self._persist(attempt)

    # Paths

    def getattr(self, path: str) -> "fuse.Stat":
        found = _Attributes()
        self._ask("nfs_lstat64", path, ctypes.byref(found))
        names = ("ino", "mode", "nlink", "uid", "gid", "size", "blocks", "atime", "mtime", "ctime")
        return fuse.Stat(st_dev=0, **{f"st_{name}": getattr(found, name) for name in names})

    def readdir(self, path: str, offset: int) -> "list[fuse.Direntry]":
        folder = ctypes.c_void_p()
        self._ask("nfs_opendir", path, ctypes.byref(folder))
        found = []
        while entry := _NFS.nfs_readdir(self._connection, folder):
            found.append(fuse.Direntry(os.fsdecode(entry.contents.name)))
        _NFS.nfs_closedir(self._connection, folder)
        return found

    def readlink(self, path: str) -> str:
        target = ctypes.create_string_buffer(os.pathconf("/", "PC_PATH_MAX") + 1)
        self._ask("nfs_readlink", path, target, len(target) - 1)
        return os.fsdecode(target.value)

    def mkdir(self, path: str, mode: int) -> None:
        self._ask("nfs_mkdir2", path, mode & 0o7777)

    def rmdir(self, path: str) -> None:
        self._ask("nfs_rmdir", path)

    def unlink(self, path: str) -> None:
        self._ask("nfs_unlink", path)

    def rename(self, path: str, new: str) -> None:
        self._ask("nfs_rename", path, new)

    def link(self, path: str, new: str) -> None:
        self._ask("nfs_link", path, new)

    def symlink(self, target: str, path: str) -> None:
        self._ask("nfs_symlink", target, path)

    def chmod(self, path: str, mode: int) -> None:
        self._ask("nfs_chmod", path, mode & 0o7777)

    def chown(self, path: str, user: int, group: int) -> None:
        self._ask("nfs_lchown", path, user, group)

    def utimens(self, path: str, accessed: "fuse.Timespec", modified: "fuse.Timespec") -> None:
        seconds = [when.tv_sec + when.tv_nsec / 1e9 for when in (accessed, modified)]
        self._set_times(path, *seconds)

    def _set_times(self, path: str, *seconds: float) -> None:
        times = [_Time(int(when), int(when % 1 * 1e6)) for when in seconds]
        self._ask("nfs_utimes", path, ctypes.byref((_Time * 2)(*times)))

    def truncate(self, path: str, size: int) -> None:
        self._ask("nfs_truncate", path, size)

    # Open files

    def open(self, path: str, flags: int) -> _File:
        file = _File(path, flags)
        self._persist(lambda: self._open(file))
        return file

    def create(self, path: str, flags: int, mode: int) -> _File:
        """libnfs drops the mode of what is not exclusive, and leaves odd times on what is."""
        file = _File(path, flags)
        how = os.O_CREAT | os.O_EXCL
        try:
            self._persist(lambda: self._open(file, how, mode & 0o7777))
        except FileExistsError:
            if flags & os.O_EXCL:
                raise
            return self.open(path, flags)
        self._set_times(path, time.time(), time.time())
        return file

    def read(self, path: str, size: int, offset: int, file: _File) -> bytes:
        buffer = ctypes.create_string_buffer(size)
        length = self._ask_of(file, "nfs_pread", offset, size, buffer)
        return buffer.raw[:length]

    def write(self, path: str, data: bytes, offset: int, file: _File) -> int:
        return self._ask_of(file, "nfs_pwrite", offset, len(data), data)

    def ftruncate(self, path: str, size: int, file: _File) -> None:
        self._ask_of(file, "nfs_ftruncate", size)

    def fsync(self, path: str, only_data: int, file: _File) -> None:
        self._ask_of(file, "nfs_fsync")

    def release(self, path: str, flags: int, file: _File) -> None:
        if file.connection == self._connection:
            self._call("nfs_close", file.handle)


def main(source: str, folder: str, *arguments: str) -> None:
    options = [option for word in arguments for option in word.split(",")]
    mount = _Mount(source, folder, *(["ro"] if "ro" in options else []))
    try:
        mount.connect()
    except OSError as error:
        sys.exit(f"mount.nfs: {source}: {error.strerror}")
    mount.main()


if __name__ == "__main__":
    main(*sys.argv[1:])
