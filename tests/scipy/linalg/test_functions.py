"""`funm` against SciPy's; derivatives by differences; what SciPy prints, and what rounding decides, is Python's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import funm

import tracejit as tj

M = np.random.default_rng(0).normal(size=(4, 4))
MATRICES = {"real": M, "symmetric": M @ M.T / 4, "complex": M + 1j * M.T, "number": np.array([[2.0]])}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", MATRICES)
def test_values_and_derivatives(name: str) -> None:
    a = MATRICES[name]
    for function in (np.exp, lambda x: x * np.sin(x)) if name == "real" else (np.exp,):
        compiled = tj.jit(lambda a, f=function: funm(a, f), fallback=True)  # real where SciPy's is
        want = funm(a, function)
        got = compiled(a)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
        assert "library_call" not in compiled.lower(a).as_text("jaxpr")
        way = np.random.default_rng(1).normal(size=a.shape)
        along = lambda t, f=function: tj.numpy.sum(tj.numpy.abs(funm(a + t * way, f)))
        near = (along(1e-6) - along(-1e-6)) / 2e-6
        np.testing.assert_allclose(tj.jit(tj.grad(along))(0.0), near, rtol=1e-5)
    got = tj.jit(tj.vmap(lambda a: funm(a, np.exp)))(np.stack([a, a.T]))
    np.testing.assert_allclose(got, [funm(a, np.exp), funm(a.T, np.exp)], rtol=1e-9)


def test_what_python_does(capsys: Any) -> None:
    defective = np.array([[1.0, 1.0], [0.0, 1.0]])
    compiled = tj.jit(lambda a: funm(a, np.exp), fallback=True)
    want = funm(defective, np.exp)
    assert np.array_equal(compiled(defective), want)
    assert capsys.readouterr().out.count("inaccurate") == 2
    cut = np.random.default_rng(3).normal(size=(4, 4))  # an eigenvalue is real and negative
    assert np.array_equal(tj.jit(lambda a: funm(a, np.sqrt), fallback=True)(cut), funm(cut, np.sqrt))
    with pytest.raises(tj.errors.ArgumentError, match="disp=False"):
        tj.jit(lambda a: funm(a, np.exp, disp=False), fallback=False)(M)
