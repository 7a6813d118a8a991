"""Large results: arrays like NumPy's own, whose memory the next call uses again."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

import tracejit as tj
from tracejit.control.generators import draws
from tracejit.lowering.runtime import pool, results

N = results.LEAST // 8
double = tj.jit(lambda x: 2 * x)


def address(x: np.ndarray) -> int:
    return x.ctypes.data


def test_memory_of_a_dead_result_is_used_again() -> None:
    x = np.arange(float(N))
    r = double(x)
    places = {address(r)}
    for _ in range(5):
        r = double(x)
        places.add(address(r))
    assert len(places) == 2  # the old result lives until the new one is there
    np.testing.assert_array_equal(r, 2 * x)


def test_results_of_the_numba_backend_are_made_so_too() -> None:
    g = tj.jit(lambda x: 3 * x, backend="numba")
    x = np.arange(float(N))
    r = g(x)
    places = {address(r)}
    for _ in range(5):
        r = g(x)
        places.add(address(r))
    assert len(places) == 2 and r.flags.owndata and r.base is None
    np.testing.assert_array_equal(r, 3 * x)
    assert address(np.empty(N)) not in places  # NumPy's own arrays are not


def test_memory_of_a_living_view_is_not() -> None:
    x = np.arange(float(N))
    view = double(x)[::7]
    want = view.copy()
    for k in range(4):
        double(x + k)
    np.testing.assert_array_equal(view, want)


def test_results_are_ordinary_arrays() -> None:
    x = np.arange(float(N))
    r = double(x)
    assert r.flags.owndata and r.flags.writeable and r.base is None
    r.resize(4 * N, refcheck=False)
    np.testing.assert_array_equal(r, np.concatenate([2 * x, np.zeros(3 * N)]))
    r.resize(3, refcheck=False)
    np.testing.assert_array_equal(r, [0, 2, 4])
    r.resize(0, refcheck=False)
    assert r.shape == (0,)


def test_a_small_array_in_a_large_ones_place() -> None:
    """A block is at most an eighth larger than its array."""
    pool.clear()
    double(np.zeros(4 * N))
    r = double(np.arange(float(N)))
    np.testing.assert_array_equal(r, 2.0 * np.arange(N))
    assert pool.clear() >= 4 * 8 * N


def test_what_is_kept_is_bounded_and_cleared() -> None:
    pool.clear()
    held = [double(np.zeros(pool.LIMIT // 8 // 4 + 1000 * k)) for k in range(5)]
    held.clear()
    assert 0 < pool.clear() <= pool.LIMIT
    assert pool.clear() == 0
    double(np.zeros(N))
    tj.clear_caches()
    assert pool.clear() == 0


def test_the_handler_is_set_for_results_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    name = np._core.multiarray.get_handler_name  # type: ignore[attr-defined]
    usual = name()
    r = double(np.ones(N))
    assert name() == usual and name(r) == "tracejit" and name(double(np.ones(3))) == usual
    assert name(np.empty(N)) == usual


def test_what_a_library_gives_lies_there_until_it_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw by NumPy's own loop; a function of the user's makes its arrays as ever."""
    name, found = np._core.multiarray.get_handler_name, []  # type: ignore[attr-defined]
    rng = np.random.default_rng(1)
    draw, seen = draws.Draw.__call__, []

    def told(self, handle, operands, result):
        out = draw(self, handle, operands, result)
        seen.append(name(out))
        return out

    def users(x):
        found.append(name(np.empty(N)))
        return 2 * x

    monkeypatch.setattr(draws.Draw, "__call__", told)
    spec = tj.ShapeDtypeStruct((N, 2), np.float64)
    drawn = tj.jit(lambda: tj.pure_callback(users, spec, rng.dirichlet([1.0, 2.0], size=N)))()
    assert seen[-1] == "tracejit" and found == [name()]
    assert (drawn == 2 * np.random.default_rng(1).dirichlet([1.0, 2.0], size=N)).all() and name() == name(
        np.empty(N)
    )


def test_threads() -> None:
    wrong: list[int] = []

    def work(k: int) -> None:
        x = np.full(N, float(k))
        for _ in range(30):
            r, s = double(x), double(x + 1)
            if not (np.all(r == 2 * k) and np.all(s == 2 * k + 2)):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_arrays_that_outlive_the_module() -> None:
    """Freed when the interpreter takes everything apart: the code that frees them has to be there."""
    text = f"""
import sys
import numpy as np
import tracejit as tj
sys.kept = [tj.jit(lambda x: 2 * x)(np.ones({N})) for _ in range(3)]
class Late:
    def __init__(self, x): self.x = x
    def __del__(self): self.x = None
sys.modules["late"] = Late(sys.kept[0])
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="page faults are counted as Linux does")
def test_results_of_middle_size_ask_the_system_for_no_pages() -> None:
    text = """
import resource
import numpy as np
import tracejit as tj
f = tj.jit(lambda x: (x + 1, x * 2, x - 3))
x = np.ones(40_000)
def faults(calls):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(calls):
        f(x)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults(3)
print(faults(50))
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 500  # 80 pages a result, thrice a call, would be 12,000
