"""x[mask] with traced masks: under jit and vmap and in derivatives, against NumPy and finite differences."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import errors

X = np.array([3.0, -1, 4, -1.5, 5, 9, -2, 6])
Y = np.arange(8.0) - 2.5
M = np.arange(12.0).reshape(4, 3)
#: Some elements are above 2, all are, none is, and one is NaN.
INPUTS = (X, X + 8, X - 20, np.where(X == 5, np.nan, X))


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """NumPy warns of means of nothing; compiled code is silent."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    """What a call gives with the arguments afterwards, or the exception that it raises."""
    args = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)
    with quiet():
        try:
            return f(*args), args
        except (ValueError, IndexError) as e:
            return e


def same(got: Any, want: Any) -> None:
    if isinstance(want, Exception):
        kind = ValueError if isinstance(want, ValueError) else IndexError
        assert isinstance(got, kind), (got, want)
        return
    assert not isinstance(got, Exception), got
    for g, w in zip(tj.tree.leaves(got), tj.tree.leaves(want), strict=True):
        assert np.asarray(g).dtype == np.asarray(w).dtype
        assert np.shape(g) == np.shape(w)
        np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-13)


# ---------------------------------------------------------------- what stays in place


def assigned(x: Any) -> Any:
    m = x > 2
    x[m] += 1
    x[m] = x[m] * Y[m] - np.minimum(x[m], 3)
    x[~m] = 0.5
    return x.sum()


def held(x: Any) -> Any:
    z = x[x > 2]
    t = z
    z += 1
    z **= 2
    z[z > 30] = -1
    z[...] = z - 1
    return t.sum(), z[z > 0].size, z[z > 0].sum()


def by_places(x: Any) -> Any:
    i = np.nonzero(x > 2)[0]
    rows, columns = np.where(M > 4)
    x[i] += Y[i]
    x[np.where(x < 0)] = 0
    return x, x[i].sum(), (i * Y[i - 1]).sum(), (M[rows, columns] * columns).sum(), M[columns, rows % 3].sum()


IN_PLACE: list[Callable[[Any], Any]] = [
    lambda x: (x[x > 2].sum(), x[x > 2].mean(), x[x > 2].prod(), np.std(x[x > 2], ddof=1), x[x > 2].var()),
    lambda x: ((x[x > 2] > 5).any(), np.all(x[x > 2] > 3), np.count_nonzero(x[x > 2] > 4)),
    lambda x: (x[x > 2].max(), np.min(x[x > 2])),
    lambda x: (x[x > 2].argmax(), np.argmin(x[x > 2])),
    lambda x: np.ptp(x[x > 2]),
    lambda x: (x[x > 2].max(initial=4.0), x[x > 2].min(initial=-7), x[x > 2].sum(initial=2)),
    lambda x: (x[x > 2].size, x[x > 2].shape[0], x[x > 2].shape, np.median(x[x > 2])),
    lambda x: (np.dot(x[x > 2], Y[x > 2]), x[x > 2] @ x[x > 2], np.inner(Y[x > 2], x[x > 2])),
    lambda x: (np.sqrt(x[x > 2]) * Y[x > 2] - np.log(x[x > 2])).sum(),
    lambda x: (np.where(x[x > 2] > 4, x[x > 2], 0).sum(), np.clip(x[x > 2], 3.5, 5).sum()),
    lambda x: ((x[x > 2] ** 2).sum(), (2 - x[x > 2]).sum(), (x[x > 2] % 2 == 1).sum(), abs(-x[x > 2]).sum()),
    lambda x: (x[x > 2].copy().astype(np.float32).sum(), np.round(x[x > 2]).sum(), x[x > 2].T.size),
    lambda x: (
        M[x[:4] > 2].sum(axis=0),
        M[x[:4] > 2].mean(0),
        M[x[:4] > 2].sum(axis=1).sum(),
        M[M > 3].sum(),
    ),
    lambda x: (M[x[:4] > 2].max(axis=0), M[:, x[:3] > 2].sum(axis=1), M[:, x[:3] > 2].std(keepdims=True)),
    lambda x: (np.extract(x > 2, x).sum(), np.compress(x > 2, Y).sum(), np.compress(x[:2] > 2, M, 1).sum()),
    lambda x: (x[np.where(x > 2)].mean(), x[np.nonzero(x > 2)[0]].sum(), np.argwhere(M > x[0]).sum()),
    lambda x: x[x > 2][x[x > 2] > 4].sum(),
    assigned,
    held,
    by_places,
]


@pytest.mark.sample(5)
@pytest.mark.parametrize("f", IN_PLACE)
def test_elements_that_stay_in_place(f: Callable[[Any], Any]) -> None:
    compiled = tj.jit(f)
    for x in INPUTS:
        if not (f is IN_PLACE[3] and np.isnan(x).any()):
            same(outcome(compiled, x), outcome(f, x))
    lanes = np.stack(INPUTS[:2])
    with quiet():
        for mapped in (tj.vmap(f), tj.jit(tj.vmap(f))):
            got = tj.tree.leaves(mapped(lanes.copy()))
            for g, *ws in zip(got, *(tj.tree.leaves(f(x.copy())) for x in lanes), strict=True):
                np.testing.assert_allclose(g, ws, rtol=1e-6)


# ---------------------------------------------------------------- what moves


def sorted_back(x: Any) -> None:
    x[x > 2] = np.sort(x[x > 2])
    x[x < 0] = np.cumsum(x[x < 0])[::-1]


def walked(x: Any) -> Any:
    total = np.float64(0)
    for v in x[x > 2]:
        total = total * 0.5 + v
    for i in np.nonzero(x > 2)[0]:
        total = total + x[i] * i
    return total, sum(x[x > 2], np.float64(0))


def fitted(x: Any) -> Any:
    a, b = x[x > -30], Y[x > -30]
    columns = np.column_stack([a, np.ones(len(a))])
    return np.polyfit(a, b, 1), np.linalg.lstsq(columns, b, rcond=None)[0], np.interp(1.5, b, a)


def written_parts(x: Any) -> Any:
    z = x[x > 2]
    z[:2] = 7
    z[-1] += 1
    return z, z[1:3] * 2


MOVED: list[Callable[[Any], Any]] = [
    lambda x: (x[x > 2], x[x > 2] * Y[x > 2], M[x[:4] > 2], M[:, x[:3] > 2], M[M > x[0]]),
    lambda x: (np.sort(x[x > 2]), np.argsort(x[x > 2]), np.cumsum(x[x > 2]), x[x > 2][::-1], x[x > 2][1:3]),
    lambda x: (x[x > 2][0], x[x > 2][-1]),
    lambda x: (np.diff(x[x > 2]), np.trapezoid(x[x > 2]), np.roll(x[x > 2], 1), np.repeat(x[x > 2], 2)),
    lambda x: np.percentile(x[x > 2], [30, 50]),
    lambda x: (np.median(M[x[:4] > 2], axis=0), M[x[:4] > 2][:, 1].sum(), M[x[:4] > 2].T @ M[x[:4] > 2]),
    lambda x: (
        np.nonzero(x > 2),
        np.argwhere(M > x[0]),
        np.flatnonzero(M > x[0]),
        np.delete(Y, np.where(x > 2)[0]),
    ),
    lambda x: (np.outer(x[x > 2], Y[x > 2]), x[x > 2] * np.ones(1), np.stack([x[x > 2]] * 2)),
    lambda x: (np.histogram(x[x > 2], bins=3), np.zeros(len(x[x > 2])) + x[x > 2], x[x > 2].reshape(-1, 1)),
    lambda x: (lambda z: z[z > 4])(x[x > 2]),
    lambda x: max(x[x > 2]),
    sorted_back,
    walked,
    written_parts,
]


@pytest.mark.parametrize("f", MOVED)
def test_elements_side_by_side(f: Callable[[Any], Any]) -> None:
    compiled = tj.jit(f)
    for x in INPUTS[:3]:
        same(outcome(compiled, x), outcome(f, x))


def test_fits_of_what_a_mask_selects() -> None:
    for got, want in zip(tj.jit(fitted)(X), fitted(X), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10)
    f = lambda x: (
        np.cov(x[x > 2], Y[x > 2]),
        np.corrcoef(x[x > 2], Y[x > 2]),
        np.average(x[x > 2], weights=Y[x > 2]),
    )
    same(tj.jit(f)(X), f(X))


def test_values_given_for_each_selected_element() -> None:
    def f(x: Any, values: Any) -> Any:
        x[x > 2] = values
        return x * 1

    compiled = tj.jit(f)
    for values in (np.arange(5.0), np.array([3.0]), np.float64(7)):
        same(compiled(X.copy(), values), f(X.copy(), values))
        same(tj.vmap(f, (0, None))(np.stack([X, X]), values)[1], f(X.copy(), values))
    for values in (np.arange(4.0), np.arange(6.0), np.arange(0.0)):
        with pytest.raises(
            errors.MaskCountError, match=f"assign {len(values)} input values to the 5 output"
        ) as e:
            compiled(X.copy(), values)
        assert "test_masked.py" in str(e.value)
        with pytest.raises(ValueError, match=f"assign {len(values)} input values to the 5 output"):
            f(X.copy(), values)

    def between(x: Any) -> None:
        x[x > 2] = Y[x < 5]

    same(outcome(tj.jit(between), X), outcome(between, X))
    same(outcome(tj.jit(between), X + 1), outcome(between, X + 1))
    rows = lambda x: M.copy().__setitem__(x[:4] > 2, np.arange(6.0).reshape(2, 3))
    same(tj.jit(rows)(X), rows(X))


def test_reductions_of_extents_that_may_be_empty() -> None:
    """Without a mask, too: what has no value for nothing raises in compiled code."""
    f = tj.jit(lambda x, n: (x[:n].max(), x[:n].argmin()))
    assert f(X, 3) == (4.0, 1)
    with pytest.raises(ValueError, match="zero-size array to a reduction operation"):
        f(X, 0)
    assert tj.jit(lambda x, n: (np.median(x[:n]), np.diff(x[:n])))(X, 3)[0] == 3


# ---------------------------------------------------------------- derivatives


def slopes(f: Callable[[Any], Any], x: Any, h: float = 1e-6) -> Any:
    return np.array([(f(x + d) - f(x - d)) / (2 * h) for d in np.eye(x.size) * h])


def updated(x: Any) -> Any:
    z = x * 1
    z[z > 2] = np.sort(z[z > 2]) * z[z > 2]
    z[z < 0] *= z[z < 0]
    return (z * Y).sum()


def stepped(x: Any) -> Any:
    x, total = x * 1, 0.0
    for k in range(8):
        m = x > 0.1 * k
        x[m] = x[m] * 0.9 - Y[m] * 0.01
        if m.any():
            x[~m] += x[m].mean() * 0.01
        total = total + np.sort(x[m])[0] * x[m][-1] + len(x[m])
    return x.sum() + total


def weighted(x: Any) -> Any:
    i = np.nonzero(x > 2)[0]
    return (x[i] * Y[i] * i).sum() + x[i][::-1] @ Y[i]


DIFFERENTIATED: list[Callable[[Any], Any]] = [
    lambda x: (
        (np.sqrt(x[x > 0]) * Y[x > 0]).sum() + np.log(x[x > 2]).mean() + x[x > 0].max() * x[x > 0].std()
    ),
    lambda x: (np.cumsum(x[x > 0]) ** 2).sum() + x[x > 0][0] * np.median(x[x > 0]),
    lambda x: (x.reshape(2, 4)[x[:2] > 0].sum(0) ** 2).sum(),
    updated,
    stepped,
    weighted,
]


@pytest.mark.sample(4)
@pytest.mark.parametrize("f", DIFFERENTIATED)
def test_derivatives(f: Callable[[Any], Any]) -> None:
    want = slopes(f, X)
    for g in (tj.grad(f), tj.jit(tj.grad(f)), tj.grad(tj.jit(f)), tj.jit(tj.jacfwd(f))):
        np.testing.assert_allclose(g(X.copy()), want, rtol=1e-6, atol=1e-6)


def test_derivatives_of_lanes() -> None:
    f = DIFFERENTIATED[0]
    lanes = np.stack([X, X + 1.25])
    want = [slopes(f, x) for x in lanes]
    for g in (tj.vmap(tj.grad(f)), tj.jit(tj.vmap(tj.grad(f)))):
        np.testing.assert_allclose(g(lanes), want, rtol=1e-6, atol=1e-6)
    curve = tj.jit(tj.hessian(lambda x: (x[x > 2] ** 3).sum()))(X)
    np.testing.assert_allclose(curve, np.diag(np.where(X > 2, 6 * X, 0)))


# ---------------------------------------------------------------- what is refused


def test_masks_of_lanes_have_no_common_length() -> None:
    for f in (
        lambda x: np.sort(x[x > 1]),
        lambda x: x[x > 1],
        lambda x: x[x > 1][0],
        lambda x: np.nonzero(x > 1)[0],
    ):
        with pytest.raises(errors.TracedMaskError, match="between the examples") as e:
            tj.vmap(f)(np.stack([X, X]))
        assert "test_masked.py" in str(e.value)
    shared = X > 2  # one mask for all lanes has one length
    f = lambda m: tj.vmap(lambda x: np.sort(x[m]))(np.stack([X, -X]))
    same(tj.jit(f)(shared), np.sort(np.stack([X, -X])[:, shared], axis=1))


def test_masks_beside_integers() -> None:
    def f(m: Any, x: Any) -> Any:
        rows, columns = m.sum(1) > 10 + x[0] * 0, m.sum(0) > 17 + x[0] * 0
        m = m * 1
        m[rows, 1] = -1
        m[rows, columns.argmax()] += m[rows, 0]
        return m, m[rows, 1].sum(), m[0, columns], m[rows][:, columns], m[np.ix_(rows, columns)], m[rows, [1]]

    same(tj.jit(f)(M, X), f(M, X))
    with pytest.raises(errors.ShapeError, match="broadcast"):
        tj.jit(lambda m: m[m[:, 0] > 4, m[0] >= 1])(M)
    lanes = tj.vmap(lambda x: M[x[:4] > 2, 1].sum())(np.stack([X, X - 1]))
    assert lanes.tolist() == [M[X[:4] > 2, 1].sum(), M[X[:4] > 3, 1].sum()]


def test_lists_of_what_a_mask_selects() -> None:
    f = lambda x: [v * 2 for v in x[x > 1]]
    jitted = tj.jit(f)
    for x in (X, -X, X + 1):
        assert jitted(x) == f(x) and list(map(type, jitted(x))) == list(map(type, f(x)))


def test_leaks_are_found_without_moving_anything() -> None:
    """The search for leaks looks at every box there is, those of failed traces too."""
    kept: list[Any] = []
    with contextlib.suppress(errors.TracedMaskError):
        tj.vmap(lambda x: np.sort(kept.append(x[x > 1]) or kept[0]))(np.stack([X, X]))
    with tj.checking_leaks():
        assert tj.grad(lambda x: (x * x).sum())(X).tolist() == (2 * X).tolist()


def test_nothing_happens_where_a_mask_does_not_hold() -> None:
    """What is not selected neither raises nor warns, whatever the selected elements go through."""
    k = np.arange(6)
    powers = lambda k: (2 ** (k[k > 2] - 3)).sum()
    assert tj.jit(powers)(k) == powers(k) and tj.vmap(powers)(k[None]).tolist() == [powers(k)]
    places = lambda k: Y[k[(k > 2) & (k < 5)] * 2 - 6].sum()
    assert tj.jit(places)(k) == places(k)
    logs = lambda x: np.log(x[x > 2] - 1).sum() + (1 / (x[x > 2] - 1)).sum()
    with tj.config.override(debug_nans=True, debug_infs=True):
        assert np.isclose(tj.jit(logs)(X), logs(X))
    assert np.allclose(tj.vmap(logs)(np.stack([X, X])), logs(X))  # NumPy's warnings are errors here
    np.testing.assert_allclose(tj.jit(tj.grad(logs))(X), slopes(logs, X), rtol=1e-6, atol=1e-6)


def test_nothing_is_compacted_that_is_reduced() -> None:
    jaxpr = str(tj.make_jaxpr(lambda x: (np.exp(x[x > 2]) * Y[x > 2]).sum())(X))
    assert "scatter" not in jaxpr and "gather" not in jaxpr
