"""np.poly1d of traced coefficients against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import NumberError, UnfollowedError
from tracejit.test_util import check_grads

C, OTHER = np.array([1.0, -3.0, 2.5]), np.poly1d([1.0, 2.0])
GIVEN = np.poly1d(C)


def _written(c: Any) -> Any:
    p = np.poly1d(c.copy())
    p[1] = 7.0
    return p, p[1], p[9], p.order, len(p)


CASES: dict[str, Any] = {
    "value": lambda c: np.poly1d(c)(2.0),
    "values": lambda c: np.polyval(np.poly1d(c), np.linspace(0, 1, 4)),
    "fit": lambda c: np.poly1d(np.polyfit(np.arange(3.0), c, 1))(0.3),
    "itself": lambda c: np.poly1d(c, variable="t"),
    "again": lambda c: np.poly1d(np.poly1d(c, variable="t")),
    "roots": lambda c: (np.poly1d(c).roots, np.poly1d(c, True), np.poly1d(c).r),
    "sums": lambda c: ([1.0, 2.0, 3.0, 4.0] + np.poly1d(c) - 1, 1 - np.poly1d(c), OTHER - np.poly1d(c)),
    "products": lambda c: (np.poly1d(c) * OTHER, 2 * np.poly1d(c) / 3, np.poly1d(c) ** 3, -np.poly1d(c)),
    "of another": lambda c: np.poly1d(c)(OTHER),
    "derivative": lambda c: (np.poly1d(c).deriv(), np.poly1d(c).integ(2, [1.0, 2.0])),
    "equal": lambda c: (np.poly1d(c) == GIVEN, np.poly1d(c) != GIVEN, np.poly1d(c) == OTHER),
    "items": lambda c: [x * 2 for x in np.poly1d(c)],
    "kind": lambda c: isinstance(np.poly1d(c), np.poly1d),
    "captured": lambda c: GIVEN(c) + GIVEN.deriv()(c),
    "written": _written,
}


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    got, want = tj.jit(CASES[name], fallback=False)(C), CASES[name](C)
    assert tj.tree.structure(got) == tj.tree.structure(want)
    for g, w in zip(tj.tree.leaves(got), tj.tree.leaves(want), strict=True):
        assert type(g) is type(w)
        np.testing.assert_allclose(g, w, rtol=1e-14)


def test_arguments_are_trees() -> None:
    got = tj.jit(lambda p, x: p * p(x), fallback=False)(GIVEN, 2.0)
    assert type(got) is np.poly1d and np.allclose(got.coef, GIVEN(2.0) * C)
    slope = tj.grad(lambda p: p(2.0))(GIVEN)
    assert np.allclose(slope.coef, [4.0, 2.0, 1.0])
    check_grads(lambda c: np.poly1d(c).integ()(1.5) * np.poly1d(c).deriv()(0.3), (C,), order=2)
    np.testing.assert_allclose(tj.vmap(lambda c: np.poly1d(c)(2.0))(np.stack([C, 2 * C])), [0.5, 1.0])


def test_degrees() -> None:
    compiled = tj.jit(lambda c: np.poly1d(c), fallback=True)
    for c in (C, np.array([0.0, 1.0, 2.0]), np.zeros(3)):
        assert compiled(c).coef.tolist() == np.poly1d(c).coef.tolist()
    roots = tj.jit(lambda c: np.poly1d(c).roots, fallback=True)
    for c in (np.array([1.0, -3.0, 2.0]), np.array([1.0, -3.0, 0.0]), np.array([1.0, 2.0, 4.0])):
        assert roots(c).tolist() == np.poly1d(c).roots.tolist()

    low = np.array([0.0, 1.0, 2.0])
    for f in (
        tj.grad(lambda c: np.poly1d(c)(2.0)),
        tj.jit(tj.grad(lambda c: np.poly1d(c)(2.0)), fallback=False),
    ):
        assert f(low).tolist() == [4.0, 2.0, 1.0]
    with pytest.raises(NumberError):
        tj.jit(lambda c: np.poly1d(c), fallback=False)(low)


def test_refusals() -> None:
    def longer(c: Any) -> Any:
        p = np.poly1d(c)
        p[5] = 1.0
        return p(2.0)

    with pytest.raises(UnfollowedError, match="another length"):
        tj.grad(longer)(C)
    with pytest.raises(ValueError, match="1d only"):
        tj.grad(lambda c: np.poly1d(c[None])(1.0))(C)
    with pytest.raises(UnfollowedError, match="text"):
        tj.jit(lambda c: str(np.poly1d(c)), fallback=False)(C)
