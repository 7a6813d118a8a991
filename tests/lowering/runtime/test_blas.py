"""BLAS keeps to `config.num_threads`."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import numpy as np
import pytest

import tracejit as tj
from tracejit.lowering.runtime import blas

_CODE = """
import numpy as np, tracejit as tj
from threadpoolctl import threadpool_info

def threads():
    return {i["num_threads"] for i in threadpool_info() if "numpy.libs" in i["filepath"]}

x = np.random.default_rng(0).normal(size=(200, 200))
f = tj.jit(lambda x: x @ x)
f(x)
own = threads()  # as many as there are processors at most
with tj.config.override(num_threads=1):
    assert threads() == {1} and np.allclose(f(x), x @ x)
    tj.config.num_threads = 7
    assert threads() == own
assert threads() == own and len(own) == 1
print("done")
"""


def test_the_limit_is_the_smaller_number() -> None:
    """Of the library's own and the setting; its own comes back."""
    pytest.importorskip("threadpoolctl")
    if not blas.is_numpys():
        pytest.skip("another build of NumPy")
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "TRACEJIT_NUM_THREADS": "2"}
    got = subprocess.run([sys.executable, "-c", _CODE], capture_output=True, text=True, timeout=120, env=env)
    assert got.returncode == 0, got.stderr
    assert got.stdout.strip() == "done"


@pytest.mark.parametrize("whose", ["NumPy's", "SciPy's by name", "SciPy's by pointer"])
def test_a_pointer_is_the_function(whose: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Integers have 64 bits, of which SciPy's library reads the lower half."""
    if whose != "NumPy's":
        monkeypatch.setattr(blas, "_numpys", lambda: None)
    if whose == "SciPy's by pointer":
        monkeypatch.setattr(blas, "_scipys", object)
    ddot = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_void_p] * 5)(blas.address("ddot"))
    x, n, one = np.arange(5.0), ctypes.c_int64(5), ctypes.c_int64(1)
    at = ctypes.addressof
    assert ddot(at(n), x.ctypes.data, at(one), x.ctypes.data, at(one)) == 30


def test_products_have_the_bits_of_numpys() -> None:
    if not blas.is_numpys():
        pytest.skip("another build of NumPy")
    rng = np.random.default_rng(2)
    f = tj.jit(lambda x, y: x @ y)
    for dtype in (np.float32, np.float64):
        for m, k, n in ((40, 50, 60), (8, 300, 200), (128, 64, 10)):
            x, y = (rng.standard_normal(s).astype(dtype) for s in ((m, k), (k, n)))
            np.testing.assert_array_equal(f(x, y), x @ y)


def test_products_at_every_number_of_threads() -> None:
    x = np.random.default_rng(1).normal(size=(150, 150))
    f = tj.jit(lambda x: np.tanh(x @ x) @ x)
    for n in (1, 2, 5):
        with tj.config.override(num_threads=n):
            np.testing.assert_allclose(f(x), np.tanh(x @ x) @ x, rtol=1e-12, atol=1e-12)


def test_scipy_is_not_imported_for_a_product() -> None:
    """Where the library's functions have names of their own."""
    if not blas.is_numpys() and not hasattr(blas._scipys(), "scipy_dgemm_"):
        pytest.skip("another build of NumPy and SciPy")
    code = "import numpy as np, sys, tracejit as tj; x = np.eye(50) + 1; y = tj.jit(lambda x: x @ x)(x)\n"
    code += "assert np.allclose(y, x @ x) and not [m for m in sys.modules if m.startswith('scipy')]"
    subprocess.run([sys.executable, "-c", code], check=True)
