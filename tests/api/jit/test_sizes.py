"""Python integers that decide what is traced become part of the signature: only they, and only where they must."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import ShapeError, TracerIntegerError
from tracejit.test_util import assert_max_compiles, assert_max_traces

X = np.arange(6.0)


def grid(n: int, step: float) -> Any:
    x = np.linspace(0, 1, n) * step
    return x + np.zeros(2 * n - n)


def spread(x: Any, shape: tuple[int, ...], scale: int) -> Any:
    return x.reshape(shape) * scale


def picked(x: Any, which: int) -> Any:
    return [x.sum(), x.max(), x.min()][which]


def repeated(x: Any, times: int) -> Any:
    return np.concatenate([x] * times)


def halved(x: Any, levels: int) -> Any:
    out = []
    for level in range(levels):
        out.append(x[:: 2**level].sum())
    return np.array(out)


CASES = [
    (grid, [(5, 2.0), (7, 2.0), (5, 3.0)], {0}),
    (spread, [(X, (2, 3), 2), (X, (3, 2), 2), (X, (3, 2), 5)], {1}),
    (picked, [(X, 0), (X, 2), (X, -1)], set()),
    (repeated, [(X, 2), (X, 3), (X, 2)], {1}),
    (halved, [(X, 2), (X, 3), (X, 3)], set()),
]


@pytest.mark.parametrize(("f", "calls", "sizes"), CASES, ids=[c[0].__name__ for c in CASES])
def test_functions_of_sizes(f: Any, calls: Any, sizes: Any) -> None:
    jitted = tj.jit(f)
    for args in (*calls, *calls):
        got, want = jitted(*args), f(*args)
        np.testing.assert_allclose(got, want, rtol=1e-14)
        assert np.asarray(got).dtype == np.asarray(want).dtype
    assert jitted.options.sizes == sizes
    with assert_max_compiles(0):
        for args in calls:
            jitted(*args)


def test_what_is_no_size_stays_traced() -> None:
    jitted = tj.jit(spread)
    jitted(X, (2, 3), 2)
    with assert_max_traces(jitted, 0):
        assert jitted(X, (2, 3), 7)[1, 2] == 35
    counted = tj.jit(lambda x, n: sum(x[:n]) + n)  # a loop with a traced bound
    counted(X, 2)
    with assert_max_traces(counted, 0):
        assert counted(X, 4) == 10
    assert not counted.options.sizes


def test_keywords() -> None:
    jitted = tj.jit(grid)
    for n in (3, 4):
        np.testing.assert_allclose(jitted(step=1.0, n=n), grid(n, 1.0))
        np.testing.assert_allclose(jitted(n, 1.0), grid(n, 1.0))
    assert jitted.options.sizes == {"n", 0}


def test_other_kinds_of_numbers_are_refused_as_before() -> None:
    jitted = tj.jit(repeated)
    jitted(X, 2)
    with pytest.raises(TracerIntegerError):
        tj.jit(repeated)(X, np.int64(2))
    with pytest.raises(ShapeError, match=r"shapes \(3,\) \(4,\)"):  # wrong for this value too
        tj.jit(lambda n, x: np.zeros(n + 0) + x)(3, np.ones(4))
    sized = tj.jit(lambda n, i: np.zeros(n + i[0]))  # knowing n would not help
    assert sized(3, np.array([1])).shape == (4,) and not sized.options.sizes


def test_nested_and_under_transformations() -> None:
    inner = tj.jit(repeated)
    outer = tj.jit(lambda x, n: inner(x, n).sum() * n)
    assert outer(X, 3) == 15 * 9
    np.testing.assert_array_equal(tj.grad(outer)(X, 2), np.full(6, 4.0))
    np.testing.assert_array_equal(tj.jit(tj.grad(lambda x, n: inner(x, n).sum()))(X, 2), np.full(6, 2.0))
    np.testing.assert_array_equal(tj.vmap(inner, in_axes=(0, None))(X[:, None], 2), np.stack([X, X], 1))
    assert inner.lower(X, 4).compile()(X, 4).shape == (24,)


def test_the_log_names_the_size(capfd: Any) -> None:
    with tj.config.override(debug=1):
        tj.jit(repeated)(X, 3)
    assert "repeated is traced for every value of `times`=3" in capfd.readouterr().err
