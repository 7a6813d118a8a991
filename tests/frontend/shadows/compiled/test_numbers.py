"""Numbers in functions that Numba compiled are of Numba's types: programs give what Numba's machine code gives."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numba
import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import FallbackWarning

X = np.array([3.0, 0.5, -2.0, 4.0])


def quotient(x: Any) -> Any:
    return x[0] / x[1]


def over_places(x: Any) -> Any:
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = np.exp(x[i]) / i
    return out


def twice(x: Any) -> Any:
    return x * 2, x[0] * 2


def added(x: Any) -> Any:
    s = 0
    for v in x:
        s += v
    return s


def maybe(x: Any, c: Any) -> Any:
    r = 1
    if c:
        r = x[0]
    return r


def fibonacci(n: Any) -> Any:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def congruential(s: Any, n: Any) -> Any:
    for _ in range(n):
        s = s * 6364136223846793005 + 1442695040888963407
    return s


def roots(x: Any) -> Any:
    return math.sqrt(x[0]), math.log(x[1]), abs(x[2]), int(x[2]), round(x[2]), x[0] ** 0.5


def parts(a: Any, b: Any) -> Any:
    return a // b, a % b, a**b


def bits(x: Any) -> Any:
    return x[0] + x[1], -x[0], x[0] << 3


def narrow(x: Any) -> Any:
    return x[0] + np.int32(5), np.float32(x[0]) * 1.5


def deviation(x: Any) -> Any:
    return np.std(x), x.max()


def sparse_product(indptr: Any, indices: Any, data: Any, x: Any) -> Any:
    y = np.zeros(indptr.size - 1)
    for i in range(y.size):
        for k in range(indptr[i], indptr[i + 1]):
            y[i] += data[k] * x[indices[k]]
    return y


I32 = np.int32
NATIVE = [
    (quotient, (X,)),
    (quotient, (np.arange(1, 4, dtype=I32),)),
    (twice, (X,)),
    (added, (X,)),
    (added, (X[:0],)),  # 0.0: Numba's variable is a float from the beginning
    (added, (X > 0,)),
    (maybe, (X, False)),  # 1.0
    (fibonacci, (10,)),
    (congruential, (1, 1)),
    (parts, (-5, 3)),
    (parts, (2.5, 2)),
    (bits, (np.array([3, 7, -2], np.int8),)),
    (sparse_product, (np.array([0, 1, 3], I32), np.array([0, 1, 0], I32), X[:3], X)),
]
LEFT = [
    (quotient, (0 * X,)),  # ZeroDivisionError
    (over_places, (X,)),
    (quotient, (np.zeros(2, np.float32),)),
    (quotient, (np.zeros(2, np.uint8),)),
    (twice, (np.arange(3, dtype=np.uint8),)),  # int64
    (twice, (np.arange(3, dtype=np.uint64),)),  # float64
    (twice, (np.array([0.1, 0.2], np.float32),)),
    (added, (np.array([200, 100], np.uint8),)),
    (bits, (np.array([3, 7], np.uint8),)),
    (fibonacci, (100,)),  # goes around
    (congruential, (1, 5)),
    (roots, (-X,)),  # nan, where Python raises an error
    (parts, (2, 70)),
    (parts, (5, 0)),
    (narrow, (X,)),
    (deviation, (X.astype(np.float32),)),
]


def outcome(f: Any, args: Any) -> Any:
    try:
        out = f(*args)
    except ZeroDivisionError as e:
        return str(e)
    return [
        (type(x), getattr(x, "dtype", None), repr(x)) for x in (out if isinstance(out, tuple) else (out,))
    ]


@pytest.mark.sample(9)
@pytest.mark.parametrize("n", range(len(NATIVE) + len(LEFT)))
def test_programs_give_what_numba_gives(n: int) -> None:
    f, args = (*NATIVE, *LEFT)[n]
    compiled = numba.njit(f)
    want = outcome(compiled, args)
    with warnings.catch_warnings():
        warnings.simplefilter("error" if n < len(NATIVE) else "ignore", FallbackWarning)
        jitted = tj.jit(lambda *args: compiled(*args), fallback=True)
        assert outcome(jitted, args) == want == outcome(jitted, args)


def test_derivatives_of_what_divides() -> None:
    inverse = numba.njit(quotient)
    np.testing.assert_allclose(tj.grad(inverse)(X), [2, -12, 0, 0])
    with pytest.raises(ZeroDivisionError):
        tj.grad(inverse)(0 * X)
    assert tj.grad(lambda x: np.float64(1) * x[0] / x[1])(X)[0] == 2  # NumPy's numbers are NumPy's again
    with pytest.warns(RuntimeWarning, match="divide|invalid"):
        tj.grad(quotient)(0 * X)


SMALL = {d: np.array([1, 2], d) for d in ("f4", "c8", "i1", "i4", "u1", "?", "i8")}
MIXED = {
    "half": lambda a: 0.5 * a,
    "power": lambda a: a**2,
    "quotient": lambda a: a / a,
    "root": lambda a: np.sqrt(a),
    "chosen": lambda a: np.where(a > a[0], a, 2.5),
    "limited": lambda a: np.clip(a, 0.5, 1.5),
    "appended": lambda a: np.append(a, 1.5),
    "small": lambda a: a * np.ones(2, np.float32),
    "wide": lambda a: a + np.ones(2),
}  # fmt: skip


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, d) if k % 9 == 0 else pytest.param(name, d, marks=pytest.mark.exhaustive)
        for k, (name, d) in enumerate((n, d) for n in MIXED for d in SMALL)
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_arrays_of_small_numbers(name: str, dtype: str) -> None:
    """Where Numba's dtype is another one than NumPy's, Numba's compiled code is run."""
    compiled, a = numba.njit(MIXED[name]), SMALL[dtype]
    try:
        wanted = compiled(a)
    except (numba.NumbaError, NotImplementedError):
        return
    with tj.config.override(fallback=True):
        got = tj.jit(lambda a: compiled(a))(a)
    assert got.dtype == wanted.dtype
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_products_of_float32() -> None:
    compiled = numba.njit(MIXED["half"])
    with pytest.raises(tj.TracejitError, match="numbers of 32 bits beside others"):
        tj.jit(lambda a: compiled(a))(SMALL["f4"])
    double = numba.njit(lambda a: a + a)
    assert tj.jit(lambda a: double(a))(SMALL["f4"]).dtype == np.float32
