"""The functions of scipy.special that are no ufuncs: log-sum-exp, softmax, polygamma, combinatorics."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit import numpy as tnp
from tracejit.control.custom.public import custom_jvp
from tracejit.errors import SpecialFunctionError, TypeRuleError
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.operands import (
    broadcast_operands,
    cast,
    convert,
    dtype_of,
    promote,
    raw,
    result_type,
    shape_of,
)
from tracejit.ops import special as sp
from tracejit.scipy.registry import function
from tracejit.tracing import Box, wrap

Axes = tuple[int, ...]


def _doubles(name: str, *xs: Any) -> list[Any]:
    """Raw operands in float64, which SciPy's functions of counts and orders give for every dtype, broadcast."""
    _refuse_complex(name, xs)
    return broadcast_operands(name, [convert(x, dtypes.float64) for x in xs])


def _floating(name: str, *xs: Any) -> list[Any]:
    """Raw operands in one float dtype: float32 if all are at most that, otherwise float64."""
    _refuse_complex(name, xs)
    target = promote(result_type(*xs), np.dtype(np.float32))
    return broadcast_operands(name, [convert(x, target) for x in xs])


def _refuse_complex(name: str, xs: Iterable[Any]) -> None:
    if any(dtypes.is_complex(dtype_of(raw(x))) for x in xs):
        raise TypeRuleError(op=name, problem="takes real numbers, not complex ones")


def _inexact(x: Any) -> Any:
    """A box of floats: integers as float64."""
    r = raw(x)
    return wrap(r if dtypes.is_inexact(dtype_of(r)) else cast(r, dtypes.float64))


# ---------------------------------------------------------------- sums of exponentials


def _shift(x: Any, axis: Any) -> Any:
    """The maximum along `axis` (kept), constant to differentiation; 0 where it is infinite."""
    top = ops.create.stop_gradient(raw(tnp.max(x, axis=axis, keepdims=True)))
    return wrap(ops.compare.select(ops.compare.isfinite(top), top, 0.0))


@functools.partial(function, own=frozenset({"where"}))
def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """log of the sum of b * exp(a) along `axis`, without overflow. `return_sign`: also the sum's sign.

    `where` (as in JAX): elements that do not count. Without `return_sign` a negative sum gives NaN.
    """
    x = tnp.atleast_1d(_inexact(a))
    if b is None and not return_sign:
        return _log_sum(x, axis, keepdims, where)
    weights: Any = None
    if b is not None:
        x, weights = tnp.broadcast_arrays(x, _inexact(b))
        counts = weights != 0
        where = counts if where is None else tnp.logical_and(where, counts)
    if where is not None:
        x = tnp.where(where, x, -np.inf)
    top = _shift(x, axis)
    terms = tnp.exp(x - top)
    if b is not None:
        terms = terms * tnp.where(where, weights, 0)
    total = tnp.sum(terms, axis=axis, keepdims=True)
    sign = tnp.sign(total)
    out = _log(total, terms, x == top, axis, return_sign) + top
    if return_sign:
        out = tnp.real(out)
    if not keepdims:
        sign, out = (tnp.squeeze(r, axis=_axes(axis, x))[()] for r in (sign, out))
    return (out, sign) if return_sign else out


def _log(total: Any, terms: Any, largest: Any, axis: Any, absolute: bool) -> Any:
    """log(total), or of its absolute value, where `total` is the sum of `terms`.

    If those that are not the `largest` ones matter little, by log(1 + others / largest): what they add to a sum of
    1 may be lost, but not what they add to its logarithm, 0."""
    whole = tnp.log(tnp.abs(total) if absolute else total)
    if dtypes.is_complex(dtype_of(raw(terms))):
        return whole
    first = tnp.sum(tnp.where(largest, terms, 0), axis=axis, keepdims=True)
    others = tnp.sum(tnp.where(largest, 0, terms), axis=axis, keepdims=True)
    few = tnp.abs(others) < 0.5 * tnp.abs(first)
    first, others = tnp.where(few, first, 1), tnp.where(few, others, 0)
    return tnp.where(few, tnp.log1p(others / first) + tnp.log(tnp.abs(first) if absolute else first), whole)


def _axes(axis: Any, x: Box) -> Axes:
    """The axes meant, each an int."""
    if axis is None:
        return tuple(range(len(shape_of(x))))
    return tuple(map(int, axis)) if isinstance(axis, tuple | list) else (operator.index(axis),)


def _log_sum(x: Any, axis: Any, keepdims: bool, where: Any) -> Any:
    axes = _axes(axis, x)
    out = _log_sum_rule(axes, x if where is None else tnp.where(where, x, -np.inf))
    return out if keepdims else tnp.squeeze(out, axis=axes)[()]


def _log_sum_of(axes: Axes, x: Any) -> Any:
    top = _shift(x, axes)
    terms = tnp.exp(x - top)
    if dtypes.is_complex(dtype_of(raw(x))):
        return tnp.log(tnp.sum(terms, axis=axes, keepdims=True)) + top
    largest = x == top
    count = tnp.maximum(tnp.sum(tnp.where(largest, terms, 0), axis=axes, keepdims=True), 1)
    others = tnp.sum(tnp.where(largest, 0, terms), axis=axes, keepdims=True)
    return tnp.log1p(others / count) + tnp.log(count) + tnp.max(x, axis=axes, keepdims=True)


_log_sum_rule = custom_jvp(_log_sum_of, nondiff_argnums=(0,))


@_log_sum_rule.defjvp
def _log_sum_jvp(axes: Axes, primals: Any, tangents: Any) -> Any:
    """By the softmax, all that is kept for the derivative."""
    (x,), (t,) = primals, tangents
    return _log_sum_rule(axes, x), tnp.sum(_softmax_rule(axes, x) * t, axis=axes, keepdims=True)


@function
def softmax(x: Any, axis: Any = None) -> Any:
    """exp(x) divided by its sum along `axis`. The derivative needs the result only."""
    if not dtypes.is_inexact(dtype_of(raw(x))):
        e = _shifted_exponentials(x, axis)
        return e / tnp.sum(e, axis=axis, keepdims=True)
    x = _inexact(x)
    return _softmax_rule(_axes(axis, x), x)


def _shifted_exponentials(x: Any, axis: Any) -> Any:
    """exp(x - max(x)) of integers, in their own arithmetic and in the dtype that `exp` gives them, as in SciPy."""
    return tnp.exp(x - tnp.max(x, axis=axis, keepdims=True))


def _softmax_of(axes: Axes, x: Any) -> Any:
    e = tnp.exp(x - _shift(x, axes))
    return e / tnp.sum(e, axis=axes, keepdims=True)


_softmax_rule = custom_jvp(_softmax_of, nondiff_argnums=(0,))


@_softmax_rule.defjvp
def _softmax_jvp(axes: Axes, primals: Any, tangents: Any) -> Any:
    y, (t,) = _softmax_rule(axes, *primals), tangents
    weighted = y * t
    return y, weighted - y * tnp.sum(weighted, axis=axes, keepdims=True)


@function
def log_softmax(x: Any, axis: Any = None) -> Any:
    """log(softmax(x))."""
    if not dtypes.is_inexact(dtype_of(raw(x))):
        centred = x - tnp.max(x, axis=axis, keepdims=True)
        return centred - tnp.log(tnp.sum(tnp.exp(centred), axis=axis, keepdims=True))
    x = _inexact(x)
    return _log_softmax_rule(_axes(axis, x), x)


def _log_softmax_of(axes: Axes, x: Any) -> Any:
    centred = x - _shift(x, axes)
    return centred - tnp.log(tnp.sum(tnp.exp(centred), axis=axes, keepdims=True))


_log_softmax_rule = custom_jvp(_log_softmax_of, nondiff_argnums=(0,))


@_log_softmax_rule.defjvp
def _log_softmax_jvp(axes: Axes, primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    y = _log_softmax_rule(axes, x)
    return y, t - tnp.sum(tnp.exp(y) * t, axis=axes, keepdims=True)


@function
def softplus(x: Any) -> Any:
    """log(1 + exp(x))."""
    return tnp.logaddexp(0, x)


# ---------------------------------------------------------------- zeta, polygamma, gamma in several dimensions


@function
def zeta(x: Any, q: Any = None, out: Any = None) -> Any:
    """Riemann's zeta function (`q` None), or Hurwitz' sum of (q + n)**-x for x > 1."""
    if q is None:
        return wrap(sp.riemann_zeta(*_floating("zeta", x)))
    return wrap(sp.zeta(*_floating("zeta", x, q)))


@function
def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of digamma at x. A float64 array, like SciPy's, of numbers too."""
    return tnp.asarray(wrap(sp.polygamma(*_doubles("polygamma", n, x))))


@function
def multigammaln(a: Any, d: Any) -> Any:
    """log of the gamma function of `d` dimensions: d (d - 1)/4 log(pi) + sum of gammaln(a - j/2), j < d."""
    size = int(d)
    if size != d or size < 1:
        raise SpecialFunctionError(
            name="multigammaln",
            problem=f"d must be a positive integer (the dimension), not {d}",
            remedy="pass the dimension as a Python integer",
        )
    (x,) = _doubles("multigammaln", a)
    outside = ops.compare.le(x, 0.5 * (size - 1))
    leave_if(ops.reduce.reduce_or(outside, axes=tuple(range(len(shape_of(outside))))), "multigammaln")
    total = ops.values.lift(size * (size - 1) / 4 * math.log(math.pi), x)
    for j in range(size):
        total = ops.arithmetic.add(sp.lgamma(ops.arithmetic.sub(x, j / 2)), total)
    return wrap(total)


# ---------------------------------------------------------------- combinatorics


def _refuse_exact(name: str, exact: Any) -> None:
    if exact:
        raise SpecialFunctionError(
            name=name,
            problem="exact=True counts with Python's integers, which traced values are not",
            remedy="leave exact out, or call it on values that are not traced",
        )


def _choices(name: str, N: Any, K: Any, count: Any) -> Any:
    """count(N, K) where 0 <= K <= N, otherwise 0."""
    c = ops.compare
    n, k = _doubles(name, N, K)
    inside = c.and_(c.and_(c.le(k, n), c.ge(n, 0)), c.ge(k, 0))
    return wrap(c.select(inside, count(c.select(inside, n, 1.0), c.select(inside, k, 1.0)), 0.0))


@function
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """The number of ways to choose k of N things; 0 unless 0 <= k <= N."""
    _refuse_exact("comb", exact)
    if repetition:
        return comb(N + k - 1, k)
    return _choices("comb", N, k, sp.binom)


@function
def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """The number of ways to arrange k of N things; 0 unless 0 <= k <= N."""
    _refuse_exact("perm", exact)
    return _choices("perm", N, k, lambda n, j: sp.poch(ops.arithmetic.add(ops.arithmetic.sub(n, j), 1.0), j))


@function
def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    """gamma(n + 1); 0 for negative n."""
    _refuse_exact("factorial", exact)
    if extend != "zero":
        raise SpecialFunctionError(
            name="factorial",
            problem=f"extend={extend!r} is not there for traced values",
            remedy="use scipy.special.gamma(n + 1)",
        )
    kind = dtypes.canonical(dtype_of(raw(n)))
    if kind.kind not in "iuf":
        raise ValueError(f"Unsupported data type for `n` in factorial: {kind}")
    number = not isinstance(n, Box) or n.scalar or n.weak
    x = convert(n, np.dtype(np.float32) if number and kind == np.float32 else dtypes.float64)
    below = ops.compare.lt(x, 0)
    out = sp.gamma(ops.arithmetic.add(ops.compare.select(below, 1.0, x), 1.0))
    out = wrap(ops.compare.select(below, 0.0, out))
    return out if number else tnp.asarray(out)
