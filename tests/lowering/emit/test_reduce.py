"""Reductions down narrow columns: one accumulator a column, vectorised along the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int32, np.complex128])
@pytest.mark.parametrize(
    ("shape", "axes"), [((50, 3), 0), ((7, 50, 2), 1), ((3, 9, 11, 4), (1, 2)), ((40, 2, 2), 0)]
)
def test_narrow_columns(dtype: Any, shape: tuple[int, ...], axes: Any) -> None:
    x = (np.random.default_rng(0).normal(size=shape) * 4).astype(dtype)
    f = tj.jit(lambda x: np.sum(x * x + 1, axis=axes))
    tolerance = {2: 3e-2, 4: 1e-5}.get(np.dtype(dtype).itemsize, 1e-12)
    want = np.sum(x * x + 1, axis=axes)
    np.testing.assert_allclose(f(x), want, rtol=tolerance, atol=tolerance)
    assert f(x).dtype == want.dtype
    np.testing.assert_allclose(
        f(x[::-1]), np.sum(x[::-1] ** 2 + 1, axis=axes), rtol=tolerance, atol=tolerance
    )


def test_several_sums_share_a_pass() -> None:
    def f(x: Any, y: Any) -> Any:
        d = x[:, None] - y[None]
        r = np.sqrt((d * d).sum(axis=-1) + 1)[..., None]
        return (d / r).sum(axis=1), (d * r).sum(axis=1)

    x, y = np.random.default_rng(0).normal(size=(2, 30, 3))
    for found, want in zip(tj.jit(f)(x, y), f(x, y), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-12)


def test_infinities_and_nans_stay_in_their_columns() -> None:
    x = np.ones((20, 3))
    x[4, 0], x[5, 1] = np.inf, np.nan
    np.testing.assert_array_equal(tj.jit(lambda x: x.sum(axis=0))(x), [np.inf, np.nan, 20])


def test_long_sums_in_blocks_compile_once() -> None:
    """The loop over the blocks is not written out: 10_000 elements are ten blocks of 128 vectors."""
    text = tj.jit(lambda x: x.sum()).lower(np.ones((100, 100))).compile().as_text("llvm")
    assert text.count("fadd") < 60
    x = np.random.default_rng(0).normal(size=(100, 101))
    np.testing.assert_allclose(tj.jit(lambda x: x.sum())(x), x.sum(), rtol=1e-13)


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    "shape", [(3, 1), (1,), (1, 1), (4, 1, 1), (2, 3, 1), (1, 5), (0, 1), (5, 0), (1, 3, 1)]
)
def test_axes_of_one_element(shape: tuple[int, ...]) -> None:
    x = np.arange(1.0, np.prod(shape) + 1).reshape(shape)
    for axis in (*range(len(shape)), -1, None, tuple(range(len(shape)))):
        for reduce in (np.sum, np.prod, np.any, np.var, np.mean):
            if x.size or reduce in (np.sum, np.prod, np.any):
                np.testing.assert_allclose(
                    tj.jit(lambda x, r=reduce, a=axis: r(x, axis=a))(x), reduce(x, axis=axis)
                )
        if x.size:
            for order in (np.max, np.median, np.argmin):
                if order is not np.argmin or not isinstance(axis, tuple):
                    got = tj.jit(lambda x, r=order, a=axis: r(x, axis=a))(x)
                    np.testing.assert_array_equal(got, order(x, axis=axis))


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int32])
@pytest.mark.parametrize(("shape", "rows"), [((130, 700), 48), ((97, 1000), 40), ((71, 30, 50), 32)])
def test_rows_that_are_taken_in_together(dtype: Any, shape: tuple[int, ...], rows: int) -> None:
    """Several rows at a time, in their order: the bits of parts of the rows that NumPy adds one after the other."""
    x = (np.random.default_rng(0).normal(size=shape) * 4).astype(dtype)
    for y in (x, x[::-1]):
        want = 0
        for n in range(0, len(x), rows):
            part = 0
            for row in y[n : n + rows]:
                part = part + row
            want = want + part
        found = tj.jit(lambda x: x.sum(axis=0))(y)
        np.testing.assert_array_equal(found, np.asarray(want).astype(found.dtype))
        np.testing.assert_allclose(found, y.sum(axis=0), rtol=1e-4, atol=1e-3)
        np.testing.assert_array_equal(tj.jit(lambda x: x.max(axis=0))(y), y.max(axis=0))


def test_rows_are_taken_in_together_where_they_are_in_memory() -> None:
    def reads(f: Any) -> int:
        return tj.jit(f).lower(np.ones((200, 2000))).compile().as_text("loops").count("= in0[")

    assert reads(lambda x: x.sum(axis=0)) == 9  # and the rows that are left over
    assert reads(lambda x: np.tanh(x).sum(axis=0)) == 1  # it would be eight tanh


def reversed_columns(b: Any, c: Any) -> Any:
    p = b / 3 / c
    return p[:, ::-1] - b, p * b.sum(1)[:, None]


def reversed_rows(b: Any, c: Any) -> Any:
    p = b / 3 / c
    return p * b.sum(1)[:, None], p[::-1] + 1


def turned(b: Any, c: Any) -> Any:
    p = b / 3.3 / b[0, 0]
    return p.T * c, p * c.sum(1)[:, None] * c


@pytest.mark.parametrize("f", [reversed_columns, reversed_rows, turned])
@pytest.mark.parametrize("n", [1, 2, 8, 65])
def test_values_of_a_row_that_are_read_elsewhere_too(f: Any, n: int) -> None:
    """What one row keeps for its next phase is not what a transposed or reversed reader needs."""
    rng = np.random.default_rng(0)
    b, c = rng.uniform(1, 2, (n, n)), rng.uniform(1, 2, (n, n))
    for got, want in zip(tj.jit(f)(b, c), f(b, c), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13)


@pytest.mark.parametrize("n", [3, 16, 20])
def test_second_derivatives_of_softmax(n: int) -> None:
    x = np.random.default_rng(1).normal(size=n)
    got = tj.jit(tj.jacfwd(tj.jacfwd(lambda x: np.exp(x) / np.exp(x).sum())))(x)
    p, one = np.exp(x) / np.exp(x).sum(), np.eye(n)
    first = np.diag(p) - np.outer(p, p)
    want = (
        one[:, :, None] * first[:, None] - first[:, None] * p[None, :, None] - p[:, None, None] * first[None]
    )
    np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-14)


READS = ["{}", "{}[::-1]", "{}[:, ::-1]", "{}.T", "np.roll({}, 1, 0)", "{}[:1]", "{}[:, 2:3]"]
ROWS = [
    "{}.sum(1)[:, None]",
    "{}.max(1, keepdims=True)",
    "{}.sum(0)",
    "({}[::-1] + 1).min(1)[:, None]",
    "{}.mean()",
]
COSTLY = ["np.exp({})", "{} / 3.3 / (1.5 + {})", "np.tanh({}) / 1.7", "1 / (1 + np.exp(-{}))"]


def random_source(seed: int) -> str:
    """A program of matrices: costly values, read where they are and elsewhere, beside reductions of rows."""
    rng = np.random.default_rng(seed)
    names, lines = ["b", "c"], []

    def pick(templates: list[str]) -> str:
        template, name = templates[rng.integers(len(templates))], names[rng.integers(len(names))]
        return template.replace("{}", name)

    for n in range(rng.integers(3, 7)):
        first = pick(COSTLY)
        lines.append(f"    v{n} = ({first}) * {pick(READS)} + {pick([*READS, *ROWS])}")
        names.append(f"v{n}")
    outs = ", ".join(f"{pick(READS)} * {pick([*READS, *ROWS])} + b" for _ in range(3))
    return "\n".join(["def program(b, c):", *lines, f"    return {outs}"])


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "first", [0, 20, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(40, 120, 20))]
)
def test_random_reads_beside_reductions(first: int) -> None:
    rng = np.random.default_rng(first)
    b, c = rng.uniform(0.5, 1, (9, 9)), rng.uniform(0.5, 1, (9, 9))
    for seed in range(first, first + 20):
        scope: dict[str, Any] = {"np": np}
        exec(source := random_source(seed), scope)
        with np.errstate(all="ignore"):
            wants = scope["program"](b, c)
        for got, want in zip(tj.jit(scope["program"])(b, c), wants, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-10, err_msg=source)
