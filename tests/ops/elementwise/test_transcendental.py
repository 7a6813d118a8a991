"""Transcendental functions: NumPy's values, kernels, derivatives and their edges."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy import special

from tests.ops.derivatives import check_derivatives, jvp, vjp
from tests.ops.running import Unsupported, run_pointwise
from tests.ops.samples import BF16, COMPLEXES, FLOATS, operands, same
from tracejit.ops.elementwise import transcendental as tr
from tracejit.ops.elementwise.compare import lt, select

# name -> NumPy's function, points in the domain
REAL = np.array([[0.3, -0.8, 0.55], [-0.15, 0.9, -0.42]])
POSITIVE = np.abs(REAL) + 0.2
TABLE = {
    "exp": (np.exp, REAL),
    "exp2": (np.exp2, REAL),
    "expm1": (np.expm1, REAL),
    "log": (np.log, POSITIVE),
    "log2": (np.log2, POSITIVE),
    "log10": (np.log10, POSITIVE),
    "log1p": (np.log1p, REAL),
    "sin": (np.sin, REAL),
    "cos": (np.cos, REAL),
    "tan": (np.tan, REAL),
    "sinh": (np.sinh, REAL),
    "cosh": (np.cosh, REAL),
    "tanh": (np.tanh, REAL),
    "arcsin": (np.arcsin, REAL),
    "arccos": (np.arccos, REAL),
    "arctan": (np.arctan, REAL),
    "sqrt": (np.sqrt, POSITIVE),
    "cbrt": (np.cbrt, POSITIVE),
    "erf": (special.erf, REAL),
    "logistic": (special.expit, REAL),
}
NOT_COMPLEX = {"cbrt", "erf", "logistic"}


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEXES])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_eval_is_numpy(name: str, dtype: Any) -> None:
    if name in NOT_COMPLEX and np.dtype(dtype).kind == "c":
        return
    (x,) = operands(1, dtype)
    expected = TABLE[name][0](x).astype(dtype)
    ulps = 4 if name == "logistic" else 0
    same(getattr(tr, name)(x), expected, ulps)


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.complex128])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_kernel_is_numpy(name: str, dtype: Any) -> None:
    if name in NOT_COMPLEX and np.dtype(dtype).kind == "c":
        return
    (x,) = operands(1, dtype)
    try:
        out = run_pointwise(getattr(tr, name).op, x)
    except Unsupported:
        pytest.skip("runs opaquely")
    same(out, TABLE[name][0](x).astype(dtype), 4)


@pytest.mark.parametrize("name", [*TABLE, "arctan2"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_bfloat16(name: str) -> None:
    xs = [x.astype(BF16) for x in operands(2 if name == "arctan2" else 1, np.float32)]
    assert getattr(tr, name)(*xs).dtype == BF16


@pytest.mark.parametrize("dtype", FLOATS)
def test_arctan2(dtype: Any) -> None:
    y, x = operands(2, dtype)
    same(tr.arctan2(y, x), np.arctan2(y, x))
    same(run_pointwise(tr.arctan2.op, y, x), np.arctan2(y, x), 1)


@pytest.mark.parametrize("name", TABLE)
def test_derivatives(name: str) -> None:
    check_derivatives(getattr(tr, name), [TABLE[name][1]], np.random.default_rng(0), 2e-6)


@pytest.mark.parametrize("name", [n for n in TABLE if n not in {"cbrt", "erf"}])
def test_complex_derivatives(name: str) -> None:
    z = POSITIVE + 1j * REAL
    check_derivatives(getattr(tr, name), [z], np.random.default_rng(1), 2e-6)


@pytest.mark.parametrize("shapes", ["full", "scalar-full", "full-scalar"])
def test_derivatives_of_arctan2(shapes: str) -> None:
    y = REAL if shapes.startswith("full") else np.float64(0.6)
    x = POSITIVE if shapes.endswith("full") else np.float64(-0.8)
    check_derivatives(tr.arctan2, [y, x], np.random.default_rng(2), 2e-6)


@pytest.mark.filterwarnings("error")
def test_derivatives_at_the_edge() -> None:
    zero, one = np.float64(0.0), np.float64(1.0)
    assert vjp(tr.sqrt, [zero], one) == [np.inf]
    assert jvp(tr.sqrt, [zero], [one]) == np.inf
    assert jvp(tr.cbrt, [zero], [one]) == np.inf
    assert jvp(tr.arcsin, [one], [one]) == np.inf
    assert vjp(tr.arctan2, [zero, zero], one) == [0.0, 0.0]
    assert jvp(tr.logistic, [np.float64(-800.0)], [one]) == 0.0
    assert jvp(tr.tanh, [np.float64(400.0)], [one]) == 0.0


def test_logistic_does_not_overflow() -> None:
    x = np.array([-1e4, -745.0, -40.0, 0.0, 40.0, 1e4])
    np.testing.assert_allclose(tr.logistic(x), special.expit(x), rtol=4e-16, atol=1e-320)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_overflow_in_the_branch_not_taken() -> None:
    def f(x: Any) -> Any:
        return select(lt(x, 100.0), tr.exp(x), 0.0)

    np.testing.assert_array_equal(vjp(f, [np.array([0.0, 1e4])], np.ones(2))[0], [1.0, 0.0])


def test_scipy_is_loaded_on_demand() -> None:
    code = "import tracejit, sys; assert 'scipy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
