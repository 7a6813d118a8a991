"""`jit(f, backend="numba")`: programs that Numba compiles do what functions do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.config import config
from tracejit.errors import BackendError, FallbackWarning, IndexOutOfRangeError, NotPrintableError


def test_it_does_what_the_function_does() -> None:
    """Several layouts, a written view, dtypes without arithmetic in Numba, complex numbers, an extent that a run
    decides, and a failing check, by one compilation."""

    def f(x: Any, y: Any, h: Any, z: Any, i: int) -> Any:
        y[1:] -= x[:-1]
        return {"a": x[i] * z, "b": h + h, "c": np.cumsum(y)[::-1], "d": x[x > 0]}

    g = tj.jit(f, backend="numba")
    base = np.arange(-3.0, 5.0)
    for x, y in ((base.copy(), base.copy()), (base[::-1], np.repeat(base, 2)[::2]), (base[:], base[:] + 1)):
        h, z = np.array([0.1, 65504.0, 6e-8], np.float16), np.array([1 + 2j, -3j])
        x.flags.writeable = False
        mine, theirs = y.copy(), y
        with np.errstate(over="ignore"):
            want = f(x, mine, h, z, 2)
        got = g(x, theirs, h, z, 2)
        assert list(got) == list(want)
        for k in want:
            assert got[k].dtype == want[k].dtype
            np.testing.assert_allclose(got[k], want[k], rtol=1e-14)
        np.testing.assert_array_equal(mine, theirs)
    with pytest.raises(IndexOutOfRangeError, match="index 9 is out of bounds for axis 0 with size 8"):
        g(base.copy(), base.copy(), h, z, 9)
    assert g.trace_count == 1


def test_results_whose_extents_a_run_decides_own_their_memory() -> None:
    x, m = np.arange(12.0).reshape(3, 4), np.array([True, False, True, False])
    g = tj.jit(lambda x, m: (x[:, m], x[:, 0][x[:, 0] > 3]), backend="numba")
    for got, want in zip(g(x, m), (x[:, m], x[1:, 0].copy()), strict=True):
        assert got.strides == want.strides and got.base.size == got.size if got.ndim > 1 else got.base is None
        np.testing.assert_array_equal(got, want)


def test_what_has_no_printed_form_is_left_to_python() -> None:
    def f(x: Any) -> Any:
        return tj.pure_callback(np.sort, x, x) + 1

    with pytest.raises(NotPrintableError):
        tj.jit(f, backend="numba")(np.array([2.0, 1.0]))
    with config.override(fallback=True), pytest.warns(FallbackWarning, match="TJ238"):
        assert tj.jit(f, backend="numba")(np.array([2.0, 1.0])).tolist() == [2, 3]


def test_functions_of_c_are_those_of_the_default_backend() -> None:
    compiled = tj.jit(lambda x: x + 1, backend="numba").lower(0.0).compile()
    assert compiled.cfunc("double f(double x)")(2.0) == 3
    assert "@numba.njit" in compiled.as_text("numba") and "fadd" in compiled.as_text("llvm")


def test_unknown_backends() -> None:
    with pytest.raises(BackendError, match="'llvm' and 'numba'"):
        tj.jit(np.sin, backend="ptx")
