"""Masked arrays under jit: all that can be seen of results and arguments is as without it."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tracejit as tj
from tests.numpy.ma import cases
from tracejit.test_util import check_grads

ALL = [*((t, False) for t in cases.EXPRESSIONS), *((t, True) for t in cases.WRITING)]
SETTINGS = [
    (k, n, m)
    for k in ("values", "integers", "singles")
    for n in (1, 2)
    for m in ("some", "all", "none", "no")
]


def test_everything_is_as_numpy_does_it() -> None:
    """One setting; the others are the exhaustive test's."""
    _sweep("values", 2, "some", ALL[::7], 0.9)
    _sweep("integers", 1, "no", ALL[1::14], 0.85)


@pytest.mark.exhaustive
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_everything_in_every_setting(setting: tuple[str, int, str]) -> None:
    for seed in range(2):
        _sweep(*setting, ALL, 0.8, seed)


def _sweep(
    kind: str, ndim: int, masked: str, texts: list[tuple[str, bool]], share: float, seed: int = 0
) -> None:
    given = cases.arguments(kind, ndim, masked, seed)
    native = 0
    for text, statement in texts:
        wanted, found, why = cases.compare(text, statement, given)
        assert found is wanted, (text, kind, masked, wanted, found)
        native += not why
    assert native >= share * len(texts)


def test_one_program_serves_other_masks() -> None:
    @functools.partial(tj.jit, fallback=True)
    def f(m: np.ma.MaskedArray) -> object:
        return ((m - m.mean()) / m.std()).sum(), m + 1

    m = np.ma.array([1.0, 2, 3, 4], mask=[False, True, False, False])
    for mask in ([0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1]):
        m.mask = mask
        assert cases.same(cases.seen(f(m)), cases.seen(f.__wrapped__(m)))
    assert f.trace_count == 1
    m.mask = True
    mean = functools.partial(tj.jit, fallback=True)(lambda m: m.mean())
    assert mean(m) is np.ma.masked and mean(m) is np.ma.masked


def test_a_captured_one_is_read_and_written() -> None:
    held = np.ma.array([1.0, 2, 3], mask=[False, True, False])

    @functools.partial(tj.jit, fallback=True)
    def f(x: np.ndarray) -> object:
        held[2] = x[0]
        return (held * x).sum()

    x = np.array([5.0, 1, 2])
    assert f(x) == 15 and held.tolist() == [1, None, 5]
    held.mask = [0, 0, 1]
    assert f(x) == 5 + 2 + 10 and held.tolist() == [1, 2, 5]


def test_the_argument_is_given_back_itself() -> None:
    m = np.ma.array([1.0, 2])
    f = tj.jit(lambda m: m, fallback=False)
    assert f(m) is m and f(m) is m


def test_gradients_leave_out_what_is_masked() -> None:
    x = np.array([1.0, -2, 3, 4])
    masked = lambda x: np.ma.masked_where(x < 0, x)
    for f in (
        lambda x: masked(x).mean(),
        lambda x: masked(x).std(),
        lambda x: (np.ma.sqrt(x) * masked(x)).sum(),
    ):
        check_grads(f, (x,), order=2, rtol=1e-4)
        assert tj.grad(f)(x)[1] == 0
    compiled = tj.jit(tj.grad(lambda x: masked(x).std()), fallback=True)
    assert np.allclose(compiled(x), tj.grad(lambda x: masked(x).std())(x), rtol=1e-12)
    root = lambda x: np.ma.sqrt(x).sum()  # of a negative number, without a warning
    assert np.allclose(functools.partial(tj.jit, fallback=True)(tj.grad(root))(x), tj.grad(root)(x))
    rows = lambda x: masked(x).mean(axis=1).filled(0).sum()
    assert tj.grad(rows)(x.reshape(2, 2)).tolist() == [[1, 0], [0.5, 0.5]]


def test_vmap_has_one_mask_for_all_examples() -> None:
    x = np.array([[1.0, -2], [3, 4]])
    result = tj.vmap(lambda x: np.ma.masked_where(x < 0, x) * 2)(x)
    assert result.mask.tolist() == [[False, True], [False, False]] and result.data.tolist() == [
        [2, -2],
        [6, 8],
    ]


def test_filled_may_be_the_data_itself() -> None:
    data = lambda x: np.ma.masked_where(x < 0, x).filled(0)
    with pytest.raises(tj.errors.TracerBoolError):  # of one example it would be, and of another one not
        tj.vmap(data)(np.array([[1.0, -2], [3, 4]]))


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed: int) -> None:
    """Statements in a row, of which the results are what the next ones take."""
    rng = np.random.default_rng(seed)
    steps = ["m = m + x", "m = x - m * 2", "m[0] = np.ma.masked", "m = np.ma.sqrt(m)", "m = m / (x - x[0])",
             "m = np.ma.masked_where(m > 1, m)", "m[b] = 1", "x = m.filled(2)", "m = m[::-1]", "m = np.sin(m)",
             "m = np.ma.where(b, m, x)", "m = m.copy()", "x = x + m.sum() if m.count() else x",
             "m *= 2", "m = m - m.mean()"]  # fmt: skip
    text = "\n".join(steps[n] for n in rng.integers(len(steps), size=6))
    for masked in ("some", "no"):
        given = cases.arguments("values", 1, masked, seed)
        wanted, found, _ = cases.compare(text, True, given)
        assert found is wanted, (text, masked)
