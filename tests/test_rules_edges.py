"""Pointwise primitives at the edges of every format, and on arrays of every layout: compiled code against eval.

Operations that round once or not at all have NumPy's bits; the others are within the units in the last place of
`ULPS`. All operations of a dtype are compiled as one program.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tracejit as tj
from tests.cases import CASES
from tracejit.errors import TracejitError
from tracejit.interpreters.stage import stage
from tracejit.ir.avals import aval_of
from tracejit.ir.kernel import Pointwise
from tracejit.ir.primitive import REGISTRY
from tracejit.tracing import bind, to_raw, wrap

FLOATS = [np.dtype(d) for d in ("float16", "float32", "float64")] + [np.dtype(ml_dtypes.bfloat16)]
INTEGERS = [
    np.dtype(d) for d in ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
]
EXACT = {
    "add",
    "sub",
    "mul",
    "div",
    "neg",
    "abs",
    "sign",
    "square",
    "sqrt",
    "reciprocal",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
    "copy",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "copysign",
    "remainder",
    "fmod",
    "floor_divide",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "and_",
    "or_",
    "xor",
    "not_",
    "select",
    "clamp",
    "real",
    "imag",
    "conj",
    "complex",
    "stop_gradient",
    "shift_left",
    "shift_right",
    "nextafter",
    "clz",
    "population_count",
}
#: Units in the last place by which compiled code may differ from eval (NumPy's and SciPy's own errors included).
ULPS = {"pow": 4, "logistic": 4, "erf": 4}
USUAL = 4
#: What has its own sweeps, over the domains where it is stated to be accurate.
OWN_SWEEPS = [
    "logaddexp",
    "erfc_inv",
    "gamma",
    "zeta",
    "polygamma",
    "bessel",
    "airy",
    "erfinv",
    "erfcinv",
    "ndtr",
    "lgamma",
    "digamma",
    "beta",
    "igamma",
    "random",
    "threefry",
]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def grid(d: np.dtype) -> np.ndarray:
    """The edges of a format."""
    if d.kind == "b":
        return np.array([False, True])
    if d.kind in "iu":
        i = np.iinfo(d)
        return np.array([i.min, i.min + 1, 0, 1, 2, 3, 7, i.max - 1, i.max], d)
    f = ml_dtypes.finfo(d)
    tiny, least, most = float(f.tiny), float(f.smallest_subnormal), float(f.max)
    some = [
        0.0,
        least,
        tiny / 2,
        tiny,
        float(f.eps),
        0.3,
        0.5,
        1.0,
        1 + float(f.eps),
        1.5,
        2.0,
        3.7,
        11.0,
        most / 2,
        most,
    ]
    return np.array([*some, *(-x for x in some), np.inf, -np.inf, np.nan], d)


def operands(d: np.dtype, arity: int) -> list[np.ndarray]:
    """All tuples of edges."""
    g = grid(d)
    return [np.ascontiguousarray(a.ravel()) for a in np.meshgrid(*[g] * arity, indexing="ij")]


def arity_of(name: str) -> int:
    return len(CASES[name][0].makers) if CASES.get(name) else 0


def pointwise(d: np.dtype) -> list[tuple[str, int]]:
    """The operations of one or two operands and no parameters that take `d` and have native code."""
    found = []
    for name, op in sorted(REGISTRY.items()):
        n = arity_of(name)
        if (
            op.multi
            or not isinstance(op.kernel, Pointwise)
            or n not in (1, 2)
            or any(w in name for w in OWN_SWEEPS)
        ):
            continue
        try:
            stage(lambda *xs, op=op: [bind(op, *xs)], [aval_of(x) for x in operands(d, n)])
            op.eval(*(x[-2:] for x in operands(d, n)))
        except (TracejitError, TypeError, KeyError):
            continue
        found.append((name, n))
    return found


def applied(name: str) -> Callable[..., Any]:
    return lambda *xs: wrap(bind(REGISTRY[name], *map(to_raw, xs)))


def ulps(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The distance of finite numbers in units of the last place."""
    kind = np.dtype(f"i{x.dtype.itemsize}")
    a, b = (v.view(kind).astype(object) for v in (x, y))
    low = int(np.iinfo(kind).min)
    order = lambda v: np.array([low - int(i) if i < 0 else int(i) for i in v], object)
    return np.abs(order(a) - order(b))


def check(name: str, got: Any, want: Any, xs: list[np.ndarray]) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, name
    if want.dtype.kind in "biu":
        wrong = got != want
    else:
        nan = np.isnan(want.astype(np.float64) if want.dtype.kind == "V" else want)
        wrong = nan != np.isnan(got.astype(np.float64) if got.dtype.kind == "V" else got)
        rest = ~nan & ~wrong
        if want.dtype.kind == "c":
            return
        limit = 0 if name in EXACT else ULPS.get(name, USUAL)
        far = np.zeros(want.shape, bool)
        far[rest] = ulps(got[rest], want[rest]) > limit
        if name not in EXACT:
            far &= ~((got == 0) & (want == 0))
        wrong |= far
    at = np.flatnonzero(wrong)
    where = [(tuple(x[i] for x in xs), got[i], want[i]) for i in at[:6]]
    assert not at.size, f"{name} of {xs[0].dtype} at {at.size} places, such as {where}"


@pytest.mark.sample(2)
@pytest.mark.parametrize("d", [*FLOATS, *INTEGERS], ids=str)
def test_edges_of_a_format(d: np.dtype) -> None:
    names = pointwise(d)
    args = [operands(d, 1), operands(d, 2)]
    wants = []
    for name, n in list(names):
        try:
            wants.append(REGISTRY[name].eval(*args[n - 1]))
        except ValueError:  # negative powers of integers
            names.remove((name, n))
    compiled = tj.jit(lambda args: [applied(name)(*args[n - 1]) for name, n in names])(args)
    wrong = []
    for (name, n), got, want in zip(names, compiled, wants, strict=True):
        try:
            check(name, got, want, args[n - 1])
        except AssertionError as e:
            wrong.append(str(e))
    assert not wrong, "\n".join(wrong)


def unaligned(a: np.ndarray) -> np.ndarray:
    raw = np.zeros(a.nbytes + 1, np.uint8)[1:]
    raw[:] = np.frombuffer(a.tobytes(), np.uint8)
    return raw.view(a.dtype).reshape(a.shape)


def read_only(a: np.ndarray) -> np.ndarray:
    a = a.copy()
    a.flags.writeable = False
    return a


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "negative strides": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    "Fortran order": np.asfortranarray,
    "every second": lambda a: np.repeat(np.repeat(a, 2, 0), 2, 1)[::2, ::2],
    "broadcast": lambda a: np.broadcast_to(a[:1], a.shape),
    "read-only": read_only,
    "unaligned": unaligned,
    "other byte order": lambda a: a.astype(a.dtype.newbyteorder()),
    "no elements": lambda a: a[:0],
    "no dimensions": lambda a: a[1, 2],
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("d", [np.dtype(np.float64), np.dtype(np.int32)], ids=str)
def test_layouts(layout: str, d: np.dtype) -> None:
    names = pointwise(d)
    base = np.arange(1, 13).reshape(3, 4).astype(d) / d.type(2 if d.kind == "f" else 1)
    x = LAYOUTS[layout](base.astype(d))
    plain = np.array(x, dtype=d)[()]
    wants = [REGISTRY[name].eval(*[plain] * n) for name, n in names]
    compiled = tj.jit(lambda x: [applied(name)(*[x] * n) for name, n in names])(x)
    for (name, _), got, want in zip(names, compiled, wants, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13 if d.kind == "f" else 0, err_msg=name)
        assert np.asarray(got).dtype == np.asarray(want).dtype, name
