"""Functions that ask for files and settings, and that set these: random functions that call them do what Python does,
at each call."""

from __future__ import annotations

import functools
import multiprocessing
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.programs.observe import define, verdict

_ASKS = [
    *(
        "np.load(path)",
        "np.loadtxt(text)",
        "np.fromfile(data)",
        "np.load(file=path, allow_pickle=False)",
        "get(path)",
    ),
    *("np.genfromtxt(text)", "np.fromfile(data, dtype=float, count=2)", "np.loadtxt(text, ndmin=2)[:, 0]"),
    *("np.getbufsize()", "np.geterr()", "np.geterr()['divide']", "np.get_printoptions()['precision']"),
    *(
        "np.array2string(np.arange(3.0) / 7)",
        "np.array_str(np.ones(2) / 3)",
        "np.geterrcall()",
        "partly(path)",
    ),
    *("np.array_repr(x)", "np.load('no such file')"),
]
_STATEMENTS = [
    *(
        "out.append({ask})",
        "v = {ask}\n    out += [v, v]",
        "out.append(same({ask}, {ask}))",
        "x = x + number({ask})",
    ),
    *(
        "v = {ask}\n    if isinstance(v, np.ndarray):\n        v[0] = x[0]\n    out.append(v)",
        "state.append({ask})",
    ),
    *("for _ in range(2):\n        out.append({ask})", "if x.sum() > 1:\n        out.append({ask})"),
    *("with np.errstate(divide='ignore'):\n        out.append({ask})", "v = {ask}\n    kept['v'] = v"),
    *(
        "print(number({ask}), x[0])",
        "v = {ask}\n    if isinstance(v, dict):\n        v['more'] = 1\n    out.append(v)",
    ),
    *(
        "try:\n        out.append({ask})\n    except OSError:\n        out.append('none')",
        "state.append(x[0])",
    ),
    *(
        "np.seterr(divide='ignore')",
        "out.append(np.seterr(invalid='warn', over='ignore'))",
        "np.setbufsize(16384)",
    ),
    *(
        "old = np.seterr(all='ignore')\n    x = x / 2\n    np.seterr(**old)",
        "out.append(np.setbufsize(8192))",
    ),
    *(
        "if x.sum() > 1:\n        np.seterr(all='ignore')",
        "np.seterr(under='raise')",
        "np.seterr(all='nothing')",
    ),
    *(
        "with np.errstate(all='ignore'):\n        np.seterr(over='warn')",
        "out += [np.geterr(), np.getbufsize()]",
    ),
    "for k in range(3):\n        np.setbufsize(8192 + 16 * k)",
]
_CHANGES = [
    *(
        "",
        "",
        "write(n)",
        "write(n)",
        "np.setbufsize(8192 * (n + 1))",
        "np.seterr(divide=('warn', 'ignore')[n % 2])",
    ),
    *("np.set_printoptions(precision=3 + n)", "text.unlink(missing_ok=True)"),
]


def number(v: Any) -> Any:
    """A number in what was asked for."""
    if isinstance(v, np.ndarray):
        return v.sum()
    return v if isinstance(v, int) else 1.5


def same(a: Any, b: Any) -> Any:
    """Whether both are one object."""
    return a is b and not isinstance(a, (int, str))


def _maker(seed: int, folder: Path) -> Any:
    rng = random.Random(seed)
    lines = [rng.choice(_STATEMENTS).format(ask=rng.choice(_ASKS)) for _ in range(rng.randint(1, 3))]
    source = "def f(x):\n    out = []\n    " + "\n    ".join(lines) + "\n    return x, out\n"
    changes = [rng.choice(_CHANGES) for _ in range(4)]

    def maker() -> Any:
        path, text, data = folder / "a.npy", folder / "a.txt", folder / "a.bin"

        def write(n: int) -> None:
            values = np.arange(3.0 + (n == 3)) + n
            np.save(path, values)
            np.savetxt(text, values)
            values.tofile(data)

        write(0)
        np.setbufsize(8192)
        np.seterr(divide="warn", over="warn", under="ignore", invalid="warn")
        np.set_printoptions(precision=8)
        names = {"np": np, "path": str(path), "text": text, "data": data, "write": write, "get": np.load}
        names |= {"number": number, "same": same, "state": [], "kept": {}}
        names["partly"] = functools.partial(np.load, mmap_mode=None)
        define(source, names, f"<program {seed}>")

        def before(n: int) -> None:
            exec(changes[n], names | {"n": n})

        def left() -> Any:
            return names["state"], names["kept"], np.geterr(), np.getbufsize()

        xs = [(np.array(v),) for v in ([0.5, 1.0], [-1.0, 0.25], [2.0, 3.0], [1.0, 1.0])]
        return names["f"], xs, left, before

    return maker, source


def _agrees(seed: int, folder: Path) -> str:
    maker, source = _maker(seed, folder)
    options, size, errors = np.get_printoptions(), np.getbufsize(), np.geterr()
    try:
        kind, why = verdict(maker)
    finally:
        np.set_printoptions(**options)
        np.setbufsize(size)
        np.seterr(**errors)
    assert kind in ("native", "fallback"), f"{seed}\n{source}\n{why}"
    return kind


def test_random_functions_that_ask(tmp_path: Path) -> None:
    kinds = [_agrees(seed, tmp_path) for seed in range(25)]
    assert kinds.count("native") > 5


@pytest.mark.exhaustive
@pytest.mark.parametrize("start", range(1000, 2000, 100))
def test_many_random_functions_that_ask(start: int, tmp_path: Path) -> None:
    for seed in range(start, start + 100):
        _agrees(seed, tmp_path)


def test_a_file_is_read_anew_at_each_call(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    f = tj.jit(lambda x: np.load(path) * x, fallback=False)
    for n in range(4):
        np.save(path, np.full(3, float(n)))
        assert f(2.0).tolist() == [2.0 * n] * 3
    assert f.trace_count == 1


def _in_a_branch(x: Any) -> Any:
    if x.sum() > 0:
        np.seterr(divide="ignore")
    return x


def _in_a_loop(x: Any) -> Any:
    n = 0.0
    while n < x[0]:
        np.seterr(divide="ignore")
        n += 1.0
    return n


def _in_lanes(x: Any) -> Any:
    return tj.vmap(lambda v: (np.seterr(divide="ignore"), v)[1])(x)


@pytest.mark.parametrize("f", [_in_a_branch, _in_a_loop, _in_lanes])
def test_what_may_set_or_not_says_so(f: Any) -> None:
    before = np.geterr()
    with pytest.raises(tj.errors.UnfollowedError, match=r"numpy\.seterr .* sets it"):
        tj.jit(f, fallback=False)(np.ones(3))
    assert np.geterr() == before


def test_a_dict_of_settings_is_a_new_one_at_each_call() -> None:
    f = tj.jit(lambda x: (np.geterr(), x.sum()), fallback=False)
    first, second = f(np.ones(2))[0], f(np.ones(2))[0]
    assert first == second == np.geterr() and first is not second and f.trace_count == 1
    with np.errstate(divide="ignore"):
        assert f(np.ones(2))[0] == np.geterr() and f.trace_count == 2


def test_the_number_of_processors_is_asked_anywhere() -> None:
    """Also where the program has acted before, and in loops; what may change is asked at each call."""

    def f(x, n):
        print("began")
        for _ in range(n):
            x = x * (os.cpu_count() or 1)
        return x, multiprocessing.cpu_count()

    compiled = tj.jit(f)
    for n in (2, 40):
        assert compiled(0.5, n) == f(0.5, n)
    where = tj.jit(lambda x: (x, os.getcwd()))
    here = os.getcwd()
    try:
        assert where(1.0) == (1.0, here)
        os.chdir("/")
        assert where(1.0) == (1.0, os.getcwd())
    finally:
        os.chdir(here)
