"""Integers that are added up, or of which extremes are taken, at places: one iteration a thread, in one step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import SETTING, lowered, on_device
from tracejit.errors import DeviceAccessError
from tracejit.lowering.cuda.kernels import ptx_of
from tracejit.lowering.cuda.running import DeviceProgram
from tracejit.lowering.cuda.sanitized import SANITIZED
from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.loops.nodes import Store
from tracejit.lowering.lowered import Lowered

RNG = np.random.default_rng(0)
PLACES = RNG.integers(-50, 50, 5000)


def changed(ufunc: Any) -> Any:
    def f(z, i, x):
        z = z.copy()
        ufunc.at(z, i, x)
        return z

    return f


_SOME = {(np.add, np.int64), (np.minimum, np.uint32), (np.maximum, np.int32)}


@pytest.mark.parametrize(
    ("ufunc", "dtype"),
    [
        pytest.param(f, d, marks=[] if (f, d) in _SOME else pytest.mark.exhaustive)
        for f in (np.add, np.minimum, np.maximum)
        for d in (np.int64, np.int32, np.uint64, np.uint32)
    ],
)
def test_values(ufunc: Any, dtype: type) -> None:
    low = np.iinfo(dtype).min
    z, x = (RNG.integers(low // 2, np.iinfo(dtype).max // 2, n).astype(dtype) for n in (50, 5000))
    program, (got,) = on_device(changed(ufunc), z, PLACES, x)
    np.testing.assert_array_equal(got, changed(ufunc)(z, PLACES, x))
    assert program.plan.kernels[-1].size == 5000, "a thread for each"
    name = {"add": "add", "minimum": "min", "maximum": "max"}[ufunc.__name__]
    unsigned = "u" if dtype in (np.uint32, np.uint64) and name != "add" else ""
    assert "emulated" not in program.device.name or f"atomicrmw {unsigned}{name} ptr" in program.text


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda i: np.bincount(i, minlength=60), (np.abs(PLACES),)),
        (changed(np.add), (np.zeros((60, 7), int), PLACES, RNG.integers(0, 9, (5000, 7)))),
        (lambda z, i: changed(np.add)(z, i, 1), (np.arange(60), PLACES)),
        (lambda z, i: changed(np.add)(z, i, 1) * 2 + z, (np.arange(60), PLACES)),  # a small array in between
        (lambda x: np.histogram(x, bins=16, range=(-2, 2), density=True)[0], (RNG.normal(size=1500),)),
    ],
)
def test_functions(f: Any, args: Any) -> None:
    with tj.config.override(cuda="sanitize" if SETTING == "emulate" else SETTING):
        g = tj.jit(f, device="cuda")
        np.testing.assert_array_equal(tj.device_get(g(*args)), f(*args))
        assert "] = add(" in g.lower(*args).as_text("loops")


@pytest.mark.parametrize("cc", [(7, 5), (10, 0)])
def test_they_are_the_cards_instructions(cc: tuple[int, int]) -> None:
    for ufunc, said in ((np.add, "add.u64"), (np.maximum, "max.s64")):
        text = ptx_of(lowered(changed(ufunc), np.zeros(60, int), PLACES, PLACES), cc)
        assert f".global.{said}" in text and ("atom" in text or "red" in text)


@pytest.mark.parametrize(
    ("f", "z", "x"),
    [
        (changed(np.add), np.zeros(60), RNG.normal(size=5000)),  # sums of floats depend on the order
        (changed(np.multiply), np.ones(60, int), PLACES),
        (changed(np.add), np.zeros(60, np.int16), PLACES.astype(np.int16)),
    ],
)
def test_what_is_not_done_so(f: Any, z: np.ndarray, x: np.ndarray) -> None:
    program, (got,) = on_device(f, z, PLACES, x)
    np.testing.assert_array_equal(got, f(z, PLACES, x))
    assert "atomicrmw" not in program.text


def test_what_a_place_was_is_not_handed_on() -> None:
    def f(z, i):
        z, seen = z.copy(), np.zeros(5000, int)
        for n in range(5000):
            z[i[n]] += 1
            seen[n] = z[i[n]]
        return z, seen

    program, (got, seen) = on_device(f, z := np.zeros(60, int), PLACES)
    want = f(z, PLACES)
    np.testing.assert_array_equal(got, want[0])
    np.testing.assert_array_equal(seen, want[1])
    assert "atomicrmw" not in program.text


@pytest.mark.parametrize("reads", [False, True])
def test_the_sanitiser_knows_them(reads: bool) -> None:
    """Threads that change an element in one step do not disturb each other, but one that reads it otherwise."""
    k = Builder("changing")
    x, out = (k.buffer(name, np.dtype(int), 4000, "arg", i) for i, name in enumerate(("x", "out")))
    with k.loop(0, 4000, vector=True) as i:
        k.store(out, i & 7, k.load(out, 3) if reads else k.load(x, i))
    stores = [s for s in k.program.body.stmts[0].body.stmts if isinstance(s, Store)]
    stores[0].op = "add"
    on = SANITIZED[0]
    program = DeviceProgram(Lowered(k.program, [], [], [], [], {}), on)
    given = on.array(np.arange(4000)), on.array(np.zeros(4000, int))
    if reads:
        with pytest.raises(DeviceAccessError, match=r"out: a thread (reads|writes) what another"):
            program(*given)
    else:
        program(*given)
        assert given[1].get()[:8].sum() == np.arange(4000).sum()
