"""Programs as kernels of Numba's CUDA: run by its simulator, in another process, and beside NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import NotPrintableError

RNG = np.random.default_rng(0)
V, W = RNG.normal(size=300), RNG.normal(size=300)
M = RNG.normal(size=(20, 15))
TABLE = np.arange(300.0)


def newton(x: Any) -> Any:
    y = np.ones_like(x)
    for _ in range(6):
        y = 0.5 * (y + np.abs(x) / y)
    return y


def polynomial(x: Any, c: Any) -> Any:
    out = np.zeros_like(x)
    for k in range(3):
        out = out * x + c[k]
    return out


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "elementwise": (lambda x, y: np.exp(-x * x) * y + np.where(x > 0, x, 0), (V, W)),
    "functions": (lambda x: np.tanh(x) + np.log1p(x * x) + np.arctan2(x, 2.0) + np.sqrt(np.abs(x)), (V,)),
    "gradient": (tj.grad(lambda x: np.sum(np.sin(x) ** 2 * TABLE)), (V,)),
    "mapped": (tj.vmap(lambda a, b: np.maximum(a, b) / (1 + b * b)), (V, W)),
    "several": (lambda x, y: (x + y, x * y > 0), (V, W)),
    "broadcast": (lambda x, y: x * y[:, None] + 1, (M, V[:20])),
    "stencil": (lambda x: x[2:] - 2 * x[1:-1] + x[:-2], (V,)),
    "float32": (lambda x: x * x + np.float32(1), (V.astype(np.float32),)),
    "integers": (lambda n: (n * 3 + 1) & 7, (np.arange(300),)),
    "complex": (lambda x: x * (1 + 2j), (V,)),
    "one": (lambda x, a: a * x, (V, 2.5)),
    "unrolled": (polynomial, (V, np.ones(3))),
}
RUN = """
import runpy, sys
import numpy as np

assert "tracejit" not in sys.modules
for name, given in np.load("arguments.npz", allow_pickle=True).items():
    got = runpy.run_path(name + ".py")["program"](*given)
    got = got if type(got) is tuple else (got,)
    np.savez(name + ".npz", *got)
"""


def test_the_simulator(tmp_path: Path) -> None:
    given = {}
    for name, (f, args) in PROGRAMS.items():
        text = tj.jit(lambda *a, f=f: f(*a)).lower(*args).compile().as_text("numba.cuda")
        assert "@cuda.jit" in text and "tracejit" not in text.split('"""')[2]
        (tmp_path / f"{name}.py").write_text(text)
        given[name] = np.empty(len(args), object)
        given[name][:] = args
    np.savez(tmp_path / "arguments.npz", **given)
    run = subprocess.run(
        [sys.executable, "-c", RUN], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    for name, (f, args) in PROGRAMS.items():
        wanted = f(*args)
        with np.load(tmp_path / f"{name}.npz") as got:
            for g, w in zip(got.values(), wanted if type(wanted) is tuple else (wanted,), strict=True):
                assert g.dtype == w.dtype and g.shape == w.shape
                np.testing.assert_allclose(g, w, rtol=1e-6 if w.dtype == np.float32 else 1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("f", "args", "why"),
    [
        (lambda x: np.cumsum(x) / x.sum(), (V,), "nest"),
        (lambda x: np.sort(x), (V,), "nest"),
        (lambda x, i: x[i], (V, np.arange(300)), "nest|checks"),
        (lambda x: x.sum(), (V,), "nest"),
        (newton, (V,), "nest"),
        (lambda x: np.floor(x), (V,), "`floor`"),
        (lambda x: np.cbrt(x), (V,), "function cbrt"),
    ],
)
def test_what_is_no_kernel(f: Any, args: Any, why: str) -> None:
    with pytest.raises(NotPrintableError, match=why):
        tj.jit(f).lower(*args).compile().as_text("numba.cuda")
