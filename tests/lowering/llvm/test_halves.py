"""float16 where LLVM calls functions for its conversions: on processors without them, and where it invents some."""

from __future__ import annotations

import platform
from collections import OrderedDict

import llvmlite.binding as llvm
import numpy as np
import pytest

import tracejit as tj
from tests.lowering.native import apply
from tracejit.lowering.llvm import halves
from tracejit.lowering.runtime import compile as machine

HALF = np.dtype(np.float16)


@pytest.fixture
def old(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code is made for a processor without instructions for float16."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        pytest.skip("a processor of another kind")
    machine._jit()
    target = llvm.Target.from_default_triple().create_target_machine(
        cpu="x86-64", opt=3, reloc="pic", codemodel="default"
    )
    monkeypatch.setattr(machine, "_machine", lambda gathers=True, level=3: target)
    monkeypatch.setattr(machine, "_cache", OrderedDict())


def same(got: np.ndarray, want: np.ndarray) -> None:
    """Equal in bits, and NaN where NaN is wanted."""
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    some = ~np.isnan(want)
    bits = f"u{want.itemsize}"
    np.testing.assert_array_equal(got[some].view(bits), want[some].view(bits))


def around(halves_: np.ndarray, d: type) -> np.ndarray:
    """Numbers of a wider format on, half-way between, and just beside these."""
    exact = halves_.astype(d)
    middle = (exact[:-1] + exact[1:]) / 2
    near = [np.nextafter(x, d(s)) for x in (exact, middle) for s in (-np.inf, np.inf)]
    return np.concatenate([exact, middle, *near])


def test_a_sign_is_not_rounded_twice():
    a = np.arange(5, dtype=np.uint8)
    f = lambda a: (np.tanh(np.hypot(a, 1)), np.hypot(a, 1))
    for got, want in zip(tj.jit(f)(a), f(a), strict=True):
        assert got.dtype == HALF
        np.testing.assert_allclose(got, want, rtol=1e-3)


@pytest.mark.parametrize("d", [np.float32, np.float64])
def test_rounding_by_integers(old: None, d: type):
    positive = np.arange(0x7C01, dtype=np.uint16).view(HALF)[:-1]
    x = np.concatenate(
        [around(positive, d), np.array([65519.99, 65520, 65536, 1e30, 1e-30, np.inf, np.nan], d)]
    )
    x = np.concatenate([x, -x])
    with np.errstate(all="ignore"):
        same(apply(lambda k, v: k.cast(v, HALF), x, out=HALF), x.astype(HALF))


def test_widening_by_integers(old: None):
    x = np.arange(1 << 16, dtype=np.uint16).view(HALF)
    same(apply(lambda k, v: k.cast(v, np.float32), x, out=np.float32), x.astype(np.float32))


def test_operations_on_an_old_processor(old: None):
    x = np.linspace(-3, 3, 301).astype(HALF)
    same(apply(lambda k, v, w: v * w + v, x, x[::-1].copy()), x * x[::-1] + x)


def test_the_routines_call_nothing(old: None):
    code = machine.compile_llvm(halves.definitions())
    assert set(halves.called(code.object_bytes)) == set(halves.ROUTINES) == set(code.symbols)
