"""Compiled code and the disk cache: what is loaded is what would be compiled, in one process and between many."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import llvmlite.binding as llvm
import numpy as np
import pytest

import tracejit as tj
from tests.lowering.native import pointwise
from tracejit.config import config
from tracejit.errors import CacheEntryWarning
from tracejit.lowering.llvm import cpu
from tracejit.lowering.runtime import cache, shell
from tracejit.lowering.runtime import compile as machine
from tracejit.lowering.runtime.cache import Cache, Key

F8 = np.dtype(np.float64)
ROOT = Path(__file__).parents[3]
FIELDS = {"magic": 0, "key": 16, "length": 48, "checksum": 56, "object": 88}  # offsets in a file


def text_of(c: float) -> str:
    return cpu.emit(pointwise(lambda k, x: x * c, [F8], F8))


@pytest.fixture
def on(tmp_path: Path) -> Iterator[Path]:
    """The cache is on in this process, in an empty folder."""
    shell._native()  # its code is no entry of these tests, nor are the libraries of tanh
    result(0.5)
    with config.override(cache=str(tmp_path / "cache")):
        machine.forget()
        yield tmp_path / "cache"
    machine.forget()


def again(c: float) -> bytes:
    """The object of `text_of(c)` as a new process gets it."""
    machine.forget()
    return machine.compile_llvm(text_of(c)).object_bytes


def result(c: float) -> np.ndarray:
    tj.clear_caches()
    return tj.jit(lambda x: np.tanh(x) * c)(np.arange(5.0))


def no_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> None:
        raise AssertionError("LLVM was asked to compile")

    monkeypatch.setattr(machine, "_optimized", fail)


def test_the_second_process_compiles_nothing(on, monkeypatch):
    want = np.tanh(np.arange(5.0)) * 2.5
    np.testing.assert_array_equal(result(2.5), want)
    assert len(list(on.iterdir())) == 1
    no_llvm(monkeypatch)
    np.testing.assert_array_equal(result(2.5), want)


def test_comments_make_no_other_code(on, monkeypatch):
    again(2.5)
    no_llvm(monkeypatch)
    lines = text_of(2.5).splitlines(keepends=True)
    machine.compile_llvm("".join(line for x in lines for line in (x, "  ; user.py:7\n")))
    with pytest.raises(AssertionError, match="asked to compile"):
        machine.compile_llvm(text_of(2.5).replace("2.5", "3.5").replace("0x4004", "0x400C"))


def test_debug_tells_of_hits(on, capsys):
    again(3.5)
    with config.override(debug=1):
        again(3.5)
    assert "loaded" in capsys.readouterr().err


@pytest.mark.sample(2)
@pytest.mark.parametrize("at", [*FIELDS.values(), -1])
@pytest.mark.parametrize("what", ["flip", "cut"])
def test_damage_costs_a_compilation_only(on, at, what):
    want = result(4.5)
    (path,) = on.iterdir()
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    path.write_bytes(data if what == "flip" else data[:at])
    with pytest.warns(CacheEntryWarning):
        np.testing.assert_array_equal(result(4.5), want)
    np.testing.assert_array_equal(result(4.5), want)  # without a warning: it has been replaced


@pytest.mark.exhaustive
def test_damage_anywhere_costs_a_compilation_only(on):
    want = result(5.5)
    (path,) = on.iterdir()
    sound = path.read_bytes()
    for n in [*range(FIELDS["object"]), *range(FIELDS["object"], len(sound), 31)]:
        for data in (sound[:n], sound[:n] + bytes([sound[n] ^ 1]) + sound[n + 1 :]):
            path.write_bytes(data)
            cache._opened.cache_clear()
            with pytest.warns(CacheEntryWarning):
                np.testing.assert_array_equal(result(5.5), want)
            assert path.read_bytes() == sound


@pytest.mark.parametrize("code", [b"", b"no object", b"\x7fELF" + bytes(200)])
def test_a_sound_entry_that_is_no_object(on, code):
    want = result(6.5)
    (path,) = on.iterdir()
    made_by, digest = path.stem.split("-")
    path.write_bytes(cache._pack(Key(made_by, bytes.fromhex(digest)), code))
    with pytest.warns(CacheEntryWarning, match="can't be linked"):
        np.testing.assert_array_equal(result(6.5), want)
    np.testing.assert_array_equal(result(6.5), want)


OTHER_PROCESSOR = SimpleNamespace(
    llvm_version_info=llvm.llvm_version_info,
    get_host_cpu_name=llvm.get_host_cpu_name,
    get_host_cpu_features=lambda: SimpleNamespace(flatten=lambda: "+sse2"),
)


def test_versions_and_processors_have_entries_of_their_own(on, monkeypatch):
    makers = {machine.made_by()}
    silent = SimpleNamespace(kind=lambda: "")  # where LLVM is asked for the processor
    for changed in (
        {"__version__": "0.0.9"},
        {"llvmlite": SimpleNamespace(__version__="0.49.0")},
        {"processor": SimpleNamespace(kind=lambda: "another")},
        {"processor": silent},
        {"processor": silent, "llvm": OTHER_PROCESSOR},
        {"__file__": __file__},  # the way of compiling itself
    ):
        with monkeypatch.context() as m:
            for name, value in changed.items():
                m.setattr(machine, name, value)
            makers.add(machine.made_by.__wrapped__())
    assert len(makers) == 7
    for maker in makers:
        with monkeypatch.context() as m:
            m.setattr(machine, "made_by", lambda maker=maker: maker)
            again(7.5)
    assert sorted(path.name[:16] for path in on.iterdir()) == sorted(makers)


# ---------------------------------------------------------------- between processes


def start(program: str | Path, folder: Path, **env: str) -> subprocess.Popen[str]:
    """A new process that runs `program`, with warnings as errors."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program]
        if isinstance(program, str)
        else [sys.executable, program],
        env={
            **os.environ,
            "TRACEJIT_CACHE": str(folder),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            **env,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def output(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return out


EVERY_KIND = """
import sys
import numpy as np, tracejit as tj
from tracejit import lax
from tracejit.lowering.runtime import compile as machine

if {warm}:
    machine._optimized = None  # LLVM is not asked

x = np.linspace(0.0, 1.0, 40).reshape(8, 5)
until = tj.jit(lambda n: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 1.5), (0, 1.0))[1])
sines = lambda n, y: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, np.sin(c[1])), (0, y))[1]
slope = tj.jit(tj.grad(sines, argnums=1))
product = tj.jit(tj.value_and_grad(lambda w: np.sum(np.tanh(x @ w) ** 2)))
results = [until(2000), slope(3000, 0.5), *product(np.ones((5, 5))), tj.jit(lambda x: np.sort(x, axis=0)[::-1])(x),
           tj.jit(lambda x: np.add.reduceat(x, [0, 3], axis=0))(x)]
print([np.asarray(r).tobytes().hex() for r in results])
print("scipy.linalg" in sys.modules)
"""


def test_the_second_process_never_asks_llvm(tmp_path):
    """Whatever the seed of hashes and the addresses of the process: the same texts, so the same entries."""
    first = output(start(EVERY_KIND.format(warm=False), tmp_path, PYTHONHASHSEED="1"))
    entries = {path.name for path in tmp_path.iterdir()}
    second = output(start(EVERY_KIND.format(warm=True), tmp_path, PYTHONHASHSEED="2"))
    assert second == first
    assert {path.name for path in tmp_path.iterdir()} == entries and len(entries) >= 7
    assert "False" in second, "BLAS is reached without the rest of scipy.linalg"


PROGRAM = """
import numpy as np
import tracejit as tj

SCALE = {scale}
TABLE = np.arange({table}.0, {table}.0 + 4)


def helper(x):
    return x {operator} 2.0


@tj.jit
def f(x):
    return np.sum(helper(x) * SCALE + TABLE){more}


print(repr(float(f(np.arange(4.0)))))
"""


def test_edits_between_runs(tmp_path):
    """The function, a helper, a global number, a captured array; and back again."""
    program, plain = tmp_path / "program.py", {"scale": 1.5, "table": 0, "operator": "*", "more": ""}
    x = np.arange(4.0)
    for edit, want in (
        ({}, np.sum(x * 2.0 * 1.5 + x)),
        ({"more": " + 1"}, np.sum(x * 2.0 * 1.5 + x) + 1),
        ({"operator": "+"}, np.sum((x + 2.0) * 1.5 + x)),
        ({"scale": 2.5}, np.sum(x * 2.0 * 2.5 + x)),
        ({"table": 3}, np.sum(x * 2.0 * 1.5 + x + 3)),
        ({}, np.sum(x * 2.0 * 1.5 + x)),
    ):
        program.write_text(PROGRAM.format(**{**plain, **edit}))
        got = output(start(program, tmp_path / "cache", PYTHONDONTWRITEBYTECODE="1"))
        assert float(got) == want


MANY = """
import sys
import numpy as np, tracejit as tj

x = np.linspace(0.1, 0.9, 7)
for n in np.random.default_rng({seed}).permutation({count}):
    c = 1.0 + n / 1024
    got = tj.jit(lambda x: np.sin(x * c) + np.sum(x) * c)(x)
    want = np.sin(x * c) + np.sum(x) * c
    assert np.allclose(got, want, rtol=1e-14, atol=0), (n, got, want)
print("right")
"""


@pytest.mark.parametrize(
    ("processes", "count"), [(3, 12), pytest.param(8, 200, marks=pytest.mark.exhaustive)]
)
def test_cold_at_once(tmp_path, processes, count):
    running = [start(MANY.format(seed=n, count=count), tmp_path / "cache") for n in range(processes)]
    assert [output(p) for p in running] == ["right\n"] * processes
    kept = Cache(str(tmp_path / "cache"), 1 << 28)
    assert kept.verify() == (len(kept.entries()), []) and len(kept.entries()) >= count
    assert not list((tmp_path / "cache").glob("*.tmp"))


@pytest.mark.exhaustive
def test_killed_while_compiling(tmp_path):
    """Killed at every moment of a run that begins empty; what the last process finds is right."""
    pick = np.random.default_rng(0)
    for n in range(60):
        if n % 6 == 0:
            Cache(str(tmp_path / "cache"), 1 << 28).clear()
        process = start(MANY.format(seed=n, count=40), tmp_path / "cache")
        time.sleep(pick.uniform(0.3, 1.5))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert Cache(str(tmp_path / "cache"), 1 << 28).verify()[1] == []
    assert output(start(MANY.format(seed=0, count=40), tmp_path / "cache")) == "right\n"


def test_no_room_at_all(tmp_path):
    """A process that may write no file longer than a few bytes computes, with one warning."""
    program = textwrap.dedent("""
        import resource, warnings
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
        warnings.simplefilter("always")
        import numpy as np, tracejit as tj
        assert tj.jit(lambda x: np.sum(x * 2))(np.ones(3)) == 6
        assert tj.jit(lambda x: np.sum(x * 3))(np.ones(3)) == 9
    """)
    process = start(program, tmp_path / "cache")
    _, err = process.communicate()
    assert process.returncode == 0 and err.count("[TJ192]") == 1
    assert list((tmp_path / "cache").iterdir()) == []
