"""The disk cache: never a wrong result, never a crash, whatever happens to its files."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracejit.config import config
from tracejit.errors import CacheEntryWarning, CacheFolderWarning, CacheWarning, CacheWriteWarning
from tracejit.lowering.runtime import cache
from tracejit.lowering.runtime.cache import Cache, Key, key_of

HEADER = 88  # bytes
CODE = random.Random(0).randbytes(700)
AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def key(n: int = 0) -> Key:
    return key_of("0123456789abcdef", f"text {n}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def kept(folder: Path) -> Cache:
    """A cache with one entry."""
    c = Cache(str(folder), 1 << 20)
    c.save(key(), CODE)
    return c


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


# ---------------------------------------------------------------- entries


def test_what_is_saved_is_loaded(kept, folder):
    assert kept.load(key()) == CODE
    assert Cache(str(folder), 1 << 20).load(key()) == CODE
    assert kept.load(key(1)) is None
    assert names(folder) == [key().file_name]


def test_nobody_else_may_read_or_write(kept, folder):
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / key().file_name).stat().st_mode) == 0o600


def refused(c: Cache, k: Key, warning: type[CacheWarning] = CacheEntryWarning) -> str:
    """`k` is not found, with a warning; its text."""
    with pytest.warns(warning) as caught:
        assert c.load(k) is None
    assert len(caught) == 1
    return str(caught[0].message)


def damaged(data: bytes) -> Iterator[bytes]:
    """Every byte changed, and the file cut off at every place, emptied, and longer than it was."""
    for n in range(len(data)):
        yield data[:n] + bytes([data[n] ^ (1 << n % 8)]) + data[n + 1 :]
        yield data[:n]
    yield data + b"\0"
    yield bytes(len(data))


def test_every_byte_counts(kept, folder):
    path = folder / key().file_name
    sound = path.read_bytes()
    assert len(sound) == HEADER + len(CODE)
    for data in damaged(sound):
        path.write_bytes(data)
        assert "not used" in refused(Cache(str(folder), 1 << 20), key())
        assert not path.exists()


def test_an_entry_of_another_name_is_not_taken(kept, folder):
    os.rename(folder / key().file_name, folder / key(1).file_name)
    assert "another function" in refused(kept, key(1))


def test_one_warning_a_process(kept, folder):
    for n in range(3):
        (folder / key(n).file_name).write_bytes(b"nonsense")
    with pytest.warns(CacheEntryWarning) as caught:
        assert [kept.load(key(n)) for n in range(3)] == [None] * 3
    assert len(caught) == 1 and names(folder) == []


def make_link(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, make_link], ids=["folder", "pipe", "link"])
def test_what_is_no_file_is_not_read(make, folder):
    folder.mkdir(mode=0o700)
    make(folder / key().file_name)
    c = Cache(str(folder), 1 << 20)
    refused(c, key())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWriteWarning)  # a folder stays where it is
        c.save(key(), CODE)
    assert c.load(key()) == (None if make is Path.mkdir else CODE)


def test_a_vast_file_is_not_read(folder):
    folder.mkdir(mode=0o700)
    with open(folder / key().file_name, "wb") as f:
        f.truncate(1 << 40)
    assert "too large" in refused(Cache(str(folder), 1 << 20), key())


# ---------------------------------------------------------------- whose it is


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_may_write_to(kept, folder, mode):
    folder.chmod(mode)
    with pytest.warns(CacheFolderWarning, match="other users may write"):
        c = Cache(str(folder), 1 << 20)
    assert c.load(key()) is None
    c.save(key(1), CODE)
    assert names(folder) == [key().file_name]


@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602])
def test_an_entry_that_others_may_write_to(kept, folder, mode):
    (folder / key().file_name).chmod(mode)
    assert "other users may write" in refused(kept, key())


@pytest.mark.skipif(not AS_ROOT, reason="only root gives files away")
def test_what_belongs_to_somebody_else(kept, folder):
    os.chown(folder / key().file_name, 12345, 12345)
    assert "another user (12345)" in refused(kept, key())
    os.chown(folder, 12345, 12345)
    with pytest.warns(CacheFolderWarning, match=r"another user \(12345\)"):
        Cache(str(folder), 1 << 20)


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.warns(CacheFolderWarning, match="no folder"):
        assert Cache(str(tmp_path / "file"), 1 << 20).load(key()) is None
    with pytest.warns(CacheFolderWarning, match="Not a directory"):
        Cache(str(tmp_path / "file" / "below"), 1 << 20)


# ---------------------------------------------------------------- where nothing can be written


def unwritable(c: Cache, reason: str) -> None:
    """Saving fails with one warning, and leaves nothing."""
    with pytest.warns(CacheWriteWarning, match=reason) as caught:
        c.save(key(1), CODE)
        c.save(key(2), CODE)
    assert len(caught) == 1
    assert not list(Path(c.folder).glob("*.tmp"))


@contextlib.contextmanager
def nobody() -> Iterator[Path]:
    """A folder of a user whom rights restrain, as that user."""
    with tempfile.TemporaryDirectory() as name:
        if not AS_ROOT:
            yield Path(name)
            return
        os.chmod(name, 0o755)
        inner = Path(name, "cache")
        inner.mkdir(mode=0o700)
        os.chown(inner, 65534, 65534)
        os.seteuid(65534)
        try:
            yield inner
        finally:
            os.seteuid(0)


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="needs POSIX")
def test_a_read_only_folder():
    with nobody() as folder:
        Cache(str(folder), 1 << 20).save(key(), CODE)
        folder.chmod(0o500)
        try:
            c = Cache(str(folder), 1 << 20)
            assert c.load(key()) == CODE
            unwritable(c, "Permission denied")
        finally:
            folder.chmod(0o700)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a system without room")
def test_a_folder_that_can_not_be_made():
    unwritable(Cache("/proc/tracejit/cache", 1 << 20), "No such file")


def test_a_file_that_can_not_be_finished(kept):
    """As on a full disk: a part of the file is there when writing fails."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, old[1]))
    try:
        unwritable(kept, "too large")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    kept.save(key(3), CODE)
    assert kept.load(key(3)) == CODE


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS])
def test_the_system_refuses_to_write(kept, monkeypatch, code):
    def write(path: str, data: bytes) -> None:
        Path(path).write_bytes(data[:10])
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(cache, "_write", write)
    unwritable(kept, os.strerror(code)[:12])


@pytest.mark.exhaustive
@pytest.mark.skipif(not AS_ROOT, reason="only root mounts")
def test_a_full_disk(tmp_path):
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "none", tmp_path], check=False
    ).returncode:
        pytest.skip("no mounting here")
    try:
        c = Cache(str(tmp_path), 1 << 20)
        with pytest.warns(CacheWriteWarning, match="No space left"):
            for n in range(100):
                c.save(key(n), CODE)
        assert not list(tmp_path.glob("*.tmp")) and c.verify()[0] > 10
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def test_read_only_by_setting(kept, folder):
    path = folder / key().file_name
    os.utime(path, (1, 1))
    c = Cache(str(folder), 1 << 20, writable=False)
    assert c.load(key()) == CODE
    c.save(key(1), CODE)
    path.write_bytes(b"")
    os.utime(path, (1, 1))
    refused(c, key())
    assert names(folder) == [key().file_name] and path.stat().st_mtime == 1


# ---------------------------------------------------------------- the folder stays small


def test_the_longest_unused_go_first(folder):
    c = Cache(str(folder), 16 * (HEADER + len(CODE)))
    for n in range(16):
        c.save(key(n), CODE)
        os.utime(folder / key(n).file_name, (1000 + n, 1000 + n))
    assert c.load(key(2)) == CODE  # marks it as used
    c.save(key(16), CODE)
    left = [n for n in range(17) if (folder / key(n).file_name).exists()]
    assert left == [2, *range(6, 17)]  # three quarters, the new one included


def test_the_limit_holds_over_processes(folder):
    limit = 40 * (HEADER + len(CODE))
    for process in range(5):
        c = Cache(str(folder), limit)
        for n in range(30):
            c.save(key(100 * process + n), CODE)
        assert sum(s.st_size for _, s in c.entries()) <= limit * 17 // 16


def test_what_is_larger_than_the_limit_is_not_kept(folder):
    c = Cache(str(folder), len(CODE))
    c.save(key(), CODE)
    assert not folder.exists() and c.load(key()) is None


def test_only_our_files_are_removed(kept, folder):
    mine, old = folder / "notes.txt", folder / f"{key().file_name.removesuffix('.object')}.{'0' * 16}.tmp"
    young = old.with_name(old.name.replace("0" * 16, "1" * 16))
    for path in (mine, old, young):
        path.write_text("something")
    os.utime(old, (1, 1))
    os.utime(mine, (1, 1))
    Cache(str(folder), 1 << 20).save(key(1), CODE)
    assert not old.exists() and young.exists() and mine.exists()
    assert kept.clear() == 3 and names(folder) == ["notes.txt"]


def test_a_folder_that_vanishes_is_made_again(kept, folder):
    kept.clear()
    folder.rmdir()
    assert kept.load(key()) is None
    kept.save(key(), CODE)
    assert kept.load(key()) == CODE


def test_verify(kept, folder):
    for n in range(1, 5):
        kept.save(key(n), CODE)
    path = folder / key(3).file_name
    path.write_bytes(path.read_bytes()[:-1])
    assert kept.verify() == (4, [(str(path), "its length is wrong")])
    assert kept.verify() == (4, [])


# ---------------------------------------------------------------- killed while writing


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("kills", [10, pytest.param(150, marks=pytest.mark.exhaustive)])
def test_killed_while_it_writes(folder, kills):
    big, pick = CODE * 3000, random.Random(1)
    for _ in range(kills):
        pid = os.fork()
        if pid == 0:
            c = Cache(str(folder), 1 << 28)
            for n in range(100_000):
                c.save(key(n % 7), big)
            os._exit(0)
        time.sleep(pick.uniform(0, 0.03))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        c = Cache(str(folder), 1 << 28)
        assert c.verify()[1] == []
        assert {c.load(key(n)) for n in range(7)} <= {None, big}
    left = list(folder.glob("*.tmp"))
    assert len(left) <= kills
    for path in left:
        os.utime(path, (1, 1))
    Cache(str(folder), 1 << 28).save(key(8), CODE)
    assert not list(folder.glob("*.tmp"))


# ---------------------------------------------------------------- settings


def test_the_default_folder(monkeypatch, tmp_path):
    pytest.importorskip("platformdirs")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.default_folder().startswith(str(tmp_path)) and "tracejit" in cache.default_folder()


def test_switches(tmp_path):
    def at(setting: str) -> Cache:
        with config.override(cache=setting):
            found = cache.current()
        assert found is not None
        return found

    with config.override(cache="off"):
        assert cache.current() is None
    assert at(str(tmp_path)).folder == str(tmp_path) and at(str(tmp_path)).writable
    assert at(f"ro:{tmp_path}").folder == str(tmp_path) and not at(f"ro:{tmp_path}").writable
    with config.override(cache=str(tmp_path), cache_mb=3):
        assert at(str(tmp_path)).limit == 3 << 20
