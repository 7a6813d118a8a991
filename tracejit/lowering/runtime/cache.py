"""Machine code on disk: what one process has compiled, the next one loads without running LLVM's optimiser.

An entry is a file, named after what made it and after its content: the hash of the versions, the processor and
the compiler's options, then that hash and the generated text hashed together. So nothing is ever out of date:
another text, version or processor is another name. A file is a header and an object:

    magic (16 bytes) | key (32) | length of the object (8) | SHA-256 of all the rest (32) | object

Files appear whole, by renaming, so processes need no lock; one killed while it writes leaves a temporary file,
which is removed an hour later. Nothing is forced to the disk: a file that a power failure leaves incomplete has
the wrong checksum. Any doubt about a file or the folder, and the code is compiled: with one warning, never an
exception. Code is only taken from files that nobody else can have written.

Passes and lowering run in a warm process too, 5 ms in the median, since the text is the key: one made of the jaxpr
would have to tell all params apart.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import stat
import struct
import time
import warnings
from collections.abc import Callable, Iterator

from tracejit.config import config
from tracejit.errors import CacheEntryWarning, CacheFolderWarning, CacheWarning, CacheWriteWarning
from tracejit.lowering._lazy import platformdirs
from tracejit.records import record

_MAGIC = b"tracejit object\n"
_HEADER = struct.Struct("<16s32sQ32s")
_OURS = re.compile(r"[0-9a-f]{16}-[0-9a-f]{64}\.(object|[0-9a-f]{16}\.tmp)")
_ABANDONED = 3600.0  # seconds after which a temporary file belongs to no living process
_TOUCHED = 3600.0  # seconds for which an entry counts as used without its time being set again
#: No links are followed, pipes don't block, Windows changes no line ends.
_CAREFULLY = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
_LARGEST = 1 << 30  # bytes of an object that is read


@record(frozen=True)
class Key:
    """What an entry is found by: the makers' hash, and that of the makers and the text."""

    made_by: str
    digest: bytes

    @property
    def file_name(self) -> str:
        return f"{self.made_by}-{self.digest.hex()}.object"


def makers(*parts: str) -> str:
    """The hash of everything besides the text that decides what is compiled."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def key_of(made_by: str, text: str) -> Key:
    return Key(made_by, hashlib.sha256(f"{made_by}\0{text}".encode()).digest())


def _pack(key: Key, code: bytes) -> bytes:
    fields = (_MAGIC, key.digest, len(code))
    return _HEADER.pack(*fields, _checksum(*fields, code)) + code


def _checksum(magic: bytes, digest: bytes, length: int, code: bytes) -> bytes:
    h = hashlib.sha256(struct.pack("<16s32sQ", magic, digest, length))
    h.update(code)
    return h.digest()


def _unpack(data: bytes, digest: bytes) -> tuple[bytes, str]:
    """(object, '') or (b'', what is wrong with the file)."""
    if len(data) < _HEADER.size:
        return b"", "it is cut off"
    magic, own, length, checksum = _HEADER.unpack_from(data)
    code = data[_HEADER.size :]
    if magic != _MAGIC:
        return b"", "tracejit has not written it"
    if length != len(code):
        return b"", "its length is wrong"
    if checksum != _checksum(magic, own, length, code):
        return b"", "its checksum is wrong"
    if own != digest:
        return b"", "it is the code of another function"
    return code, ""


def _others_may_write(status: os.stat_result) -> str:
    """Why a file or folder is not to be trusted, or ''. What root owns is trusted: root may do anything anyway."""
    if not hasattr(os, "geteuid"):
        return ""  # Windows: the folder lies in the user's profile
    if status.st_uid not in (0, os.geteuid()):
        return f"it belongs to another user ({status.st_uid})"
    if status.st_mode & 0o022:
        return "other users may write to it"
    return ""


class Cache:
    """The entries of one folder. `limit` is in bytes; with `writable` False nothing is ever changed.

    `folder_problem` says why the folder is not used, if it isn't. No method raises for what it finds there.
    """

    def __init__(self, folder: str, limit: int, writable: bool = True) -> None:
        self.folder = folder
        self.limit = limit
        self.writable = writable
        self._told: set[type[CacheWarning]] = set()
        self._new_bytes = limit  # written since the folder was last looked through: the first write looks
        self.folder_problem = self._folder_problem()
        if self.folder_problem:
            self._tell(CacheFolderWarning, folder, self.folder_problem)

    def _folder_problem(self) -> str:
        try:
            status = os.stat(self.folder)
        except FileNotFoundError:
            return ""  # the first entry makes it
        except OSError as e:
            return _reason(e)
        return _others_may_write(status) if stat.S_ISDIR(status.st_mode) else "it is no folder"

    def _tell(self, warning: type[CacheWarning], path: str, problem: str) -> None:
        if warning not in self._told:
            self._told.add(warning)
            warnings.warn(warning(path=path, problem=problem), stacklevel=2)

    # -- entries

    def load(self, key: Key) -> bytes | None:
        """The object of `key`, or None. A hit is marked as used, for the order of eviction."""
        if self.folder_problem:
            return None
        path = os.path.join(self.folder, key.file_name)
        try:
            code, problem, status = _read(path, key.digest)
        except FileNotFoundError:
            return None
        except OSError as e:
            self._tell(CacheEntryWarning, path, _reason(e))
            return None
        if problem:
            self.distrust(key, problem)
            return None
        if self.writable and status.st_mtime < time.time() - _TOUCHED:
            _try(os.utime, path)
        return code

    def distrust(self, key: Key, problem: str) -> None:
        """Remove the entry of `key`, which is not what it should be, and say so."""
        path = os.path.join(self.folder, key.file_name)
        if self.writable:
            _try(os.unlink, path)
        self._tell(CacheEntryWarning, path, problem)

    def save(self, key: Key, code: bytes) -> None:
        """Keep `code`: whole or not at all."""
        data = _pack(key, code)
        if self.folder_problem or not self.writable or len(data) > self.limit:
            return
        path = os.path.join(self.folder, key.file_name)
        temporary = f"{path.removesuffix('.object')}.{os.urandom(8).hex()}.tmp"
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            self._make_room(len(data))
            _write(temporary, data)
            os.replace(temporary, path)
        except OSError as e:
            if not os.path.isfile(path):  # else another process was faster, and has it open
                self._tell(CacheWriteWarning, self.folder, _reason(e))
        finally:
            _try(os.unlink, temporary)

    # -- the folder

    def files(self) -> Iterator[tuple[str, os.stat_result]]:
        """Our files, temporary ones too; never what else lies in the folder."""
        try:
            found = [e for e in os.scandir(self.folder) if _OURS.fullmatch(e.name)]
        except OSError:
            return
        for e in found:
            try:
                yield e.path, e.stat(follow_symlinks=False)
            except OSError:
                continue  # another process has just removed it

    def entries(self) -> list[tuple[str, os.stat_result]]:
        return [(path, s) for path, s in self.files() if path.endswith(".object")]

    def _make_room(self, size: int) -> None:
        """Keep the folder below its limit, by and large: it is looked through when a sixteenth of that is new."""
        self._new_bytes += size
        if self._new_bytes < self.limit // 16:
            return
        self._new_bytes = 0
        self._sweep()
        files = sorted(self.entries(), key=lambda f: f[1].st_mtime)
        held = sum(s.st_size for _, s in files) + size
        if held <= self.limit:
            return
        for path, s in files:  # the longest unused ones, and some more than needed
            if held <= self.limit * 3 // 4:
                break
            _try(os.unlink, path)
            held -= s.st_size

    def _sweep(self) -> None:
        """Remove what killed processes have left."""
        for path, s in self.files():
            if path.endswith(".tmp") and s.st_mtime < time.time() - _ABANDONED:
                _try(os.unlink, path)

    def verify(self) -> tuple[int, list[tuple[str, str]]]:
        """Read all entries: how many are sound, and the others, which are removed, with what is wrong."""
        sound, bad = 0, []
        for path, _ in self.entries():
            digest = bytes.fromhex(os.path.basename(path)[17 : -len(".object")])
            try:
                problem = _read(path, digest)[1]
            except FileNotFoundError:
                continue
            except OSError as e:
                problem = _reason(e)
            if not problem:
                sound += 1
                continue
            bad.append((path, problem))
            if self.writable:
                _try(os.unlink, path)
        return sound, bad

    def clear(self) -> int:
        """Remove all entries and temporary files; how many there were."""
        return sum(_try(os.unlink, path) for path, _ in list(self.files()))


def _read(path: str, digest: bytes) -> tuple[bytes, str, os.stat_result]:
    """(object, what is wrong, status) of a file. Raises OSError."""
    with open(os.open(path, os.O_RDONLY | _CAREFULLY), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            return b"", "it is no file", status
        problem = _others_may_write(status)
        if problem or status.st_size > _LARGEST:
            return b"", problem or "it is too large", status
        return *_unpack(file.read(), digest), status


def _write(path: str, data: bytes) -> None:
    """A new file that nobody else may read or write. Raises OSError."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _CAREFULLY, 0o600), "wb") as file:
        file.write(data)


def _try(action: Callable[..., object], *args: object) -> bool:
    """Whether `action` succeeds: what can't be removed or touched stays as it is."""
    try:
        action(*args)
    except OSError:
        return False
    return True


def _reason(e: OSError) -> str:
    return e.strerror or str(e)


# ---------------------------------------------------------------- the cache of this process


def current() -> Cache | None:
    """The cache that the settings name; None if it is off."""
    return _opened(config.cache, config.cache_mb)


@functools.lru_cache(maxsize=8)
def _opened(setting: str, megabytes: int) -> Cache | None:
    if setting == "off":
        return None
    try:
        folder = default_folder() if setting in ("on", "ro") else setting.removeprefix("ro:")
    except ImportError as e:  # of platformdirs, in a damaged installation: no reason not to compute
        warnings.warn(CacheFolderWarning(path="of this user", problem=str(e)), stacklevel=2)
        return None
    return Cache(folder, megabytes << 20, writable=setting != "ro" and not setting.startswith("ro:"))


def default_folder() -> str:
    """The folder for this user's caches, as the system has it."""
    return platformdirs.user_cache_dir("tracejit", appauthor=False)
