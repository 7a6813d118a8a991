"""Taylor mode against nested forward mode, for every op that has a derivative."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.cases import CASES
from tests.test_rules import floats

ALL = [
    pytest.param(c, id=f"{name}-{n}")
    for name, cases in sorted(CASES.items())
    for n, c in enumerate(cases)
    if c.smooth
]
ORDER = 3


def nested(g: Any) -> list[Any]:
    """g(0), g'(0), ... by forward mode in forward mode."""
    out = []
    for _ in range(ORDER + 1):
        out.append(g(0.0))
        g = lambda h, g=g: tj.jvp(g, (h,), (1.0,))[1]
    return out


@pytest.mark.parametrize("case", ALL)
@pytest.mark.sample(18)
def test_every_op(case: Any) -> None:
    fn, xs = floats(case)
    if not xs or not fn(*xs) or case.orders < 2:
        return
    rng = np.random.default_rng(0)
    moves = [[(rng.standard_normal(np.shape(x)) * 0.3).astype(x.dtype)[()] for x in xs] for _ in range(2)]

    def curve(h: Any) -> Any:
        points = [(x + h * v + h * h * w / 2).astype(x.dtype) for x, v, w in zip(xs, *moves, strict=True)]
        return fn(*points)

    want = nested(curve)
    zeros = [np.zeros_like(x)[()] for x in xs]
    series = [[v, w, z] for v, w, z in zip(*moves, zeros, strict=True)]
    value, found = tj.jet(fn, xs, series)
    scale = max(1e-4, max(float(np.max(np.abs(w), initial=0)) for w in tj.tree.leaves(want[ORDER])))
    for n, terms in enumerate(found):
        np.testing.assert_allclose(value[n], want[0][n], rtol=1e-6)
        for k, t in enumerate(terms):
            assert t.shape == value[n].shape and t.dtype == value[n].dtype
            tolerance = 1e-3 if t.dtype.itemsize < 8 else 1e-7
            np.testing.assert_allclose(t, want[k + 1][n], rtol=tolerance, atol=tolerance * scale)
