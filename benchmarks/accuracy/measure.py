"""Errors of the vector functions in units of the last place, against mpmath, and in float32 against float64."""

from __future__ import annotations

import ctypes
import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import mpmath as mp
import numpy as np

from benchmarks.accuracy.bounds import Range, Row
from tracejit.lowering.llvm import cpu
from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.loops.nodes import I64
from tracejit.lowering.runtime.compile import Code, compile_llvm
from tracejit.ops.elementwise import inverse
from tracejit.ops.kernels import scalar

F32, F64, U64 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.uint64)
_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 5)

#: Those that are formulas of kernels rather than functions of their own.
_FORMULAS = {"hypot": scalar.hypot, "logaddexp": inverse.logaddexp.op.kernel.fn}

EXACT: dict[str, Callable[..., Any]] = {
    "exp": mp.exp, "exp2": lambda x: mp.mpf(2) ** x, "expm1": mp.expm1, "log": mp.log,
    "log2": lambda x: mp.log(x) / mp.log(2), "log10": mp.log10, "log1p": mp.log1p, "sin": mp.sin, "cos": mp.cos,
    "tan": mp.tan, "arcsin": mp.asin, "arccos": mp.acos, "arctan": mp.atan, "sinh": mp.sinh, "cosh": mp.cosh,
    "tanh": mp.tanh, "arcsinh": mp.asinh, "arccosh": mp.acosh, "arctanh": mp.atanh,
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)), "erf": mp.erf, "erfc": mp.erfc,
    "logistic": lambda x: 1 / (1 + mp.exp(-x)), "digamma": mp.digamma,
    "lgamma": lambda x: mp.log(abs(mp.gamma(x))) if x < 0 else mp.re(mp.loggamma(x)),
    "pow": lambda x, y: x**y, "arctan2": mp.atan2, "hypot": mp.hypot,
    "logaddexp": lambda x, y: mp.log(mp.exp(x) + mp.exp(y)),
}  # fmt: skip


#: Functions of long doubles that NumPy has by other names, or not at all.
_LONG: dict[str, Callable[..., Any]] = {"pow": np.power, "logistic": lambda x: 1 / (1 + np.exp(-x))}


# ---------------------------------------------------------------- running a function


@functools.cache
def _compiled(fn: Callable[..., Any], ins: tuple[np.dtype, ...], out: np.dtype) -> Code:
    """out[i] = fn(k, x0[i], x1[i] …) over one loop whose length is parameter 0."""
    k = Builder()
    xs = [k.buffer(f"x{n}", d, 0, "arg", n) for n, d in enumerate(ins)]
    to = k.buffer("out", out, 0, "arg", len(xs))
    k.program.params.append(0)
    with k.loop(0, k._inst("param", I64, (), 0), vector=True) as i:
        k.store(to, i, fn(k, *[k.load(b, i) for b in xs]))
    return compile_llvm(cpu.emit(k.program))


def mapped(fn: Callable[..., Any], out: np.dtype, *xs: np.ndarray) -> np.ndarray:
    """`fn(k, *scalars)` over arrays of one length."""
    result = np.empty(xs[0].size, out)
    code = _compiled(fn, tuple(x.dtype for x in xs), out)
    arrays = [*xs, result]
    pointers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
    status, params = (ctypes.c_int64 * 8)(), (ctypes.c_int64 * 1)(result.size)
    arena = np.empty(4096, np.uint8)
    _ENTRY(code.address)(pointers, params, (ctypes.c_void_p * 1)(), (arena.ctypes.data + 63) & -64, status)
    return result


@functools.cache
def _kernel(name: str) -> Callable[..., Any]:
    return _FORMULAS.get(name) or (lambda k, *xs: k.math(name, *xs))


def run(name: str, *xs: np.ndarray) -> np.ndarray:
    """The function at arrays of one length."""
    return mapped(_kernel(name), xs[0].dtype, *xs)


# ---------------------------------------------------------------- arguments


def _sample(r: Range, n: int, rng: np.random.Generator) -> np.ndarray:
    a, b = r
    if a > 0 and b / a > 1e3:
        return np.exp(rng.uniform(np.log(a), np.log(b), n))
    return rng.uniform(a, b, n)


def _hard(row: Row) -> np.ndarray:
    """Powers of two with their neighbours, for angles multiples of pi/2, within the ranges."""
    x = np.ldexp(1.0, np.concatenate([np.arange(-60, 60, 3), np.arange(-1070, 1023, 67)]))
    if row.name in ("sin", "cos", "tan"):
        n = np.concatenate([np.arange(1.0, 120), np.ldexp(1.0, np.arange(7, 60)) + 1])
        x = np.concatenate(
            [x, n * (np.pi / 2), [6381956970095103 * 2.0**797]]
        )  # the worst of all for cancellation
    x = np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, 0)])
    x = np.concatenate([x, -x])
    if row.against:  # gamma functions below zero: without their poles
        x = x[x != np.rint(x)]
    return x[np.any([(x > a) & (x < b) for a, b in row.ranges], axis=0)]


def arguments(row: Row, n: int, dtype: np.dtype = F64, seed: int = 0) -> tuple[np.ndarray, ...]:
    """About `n` arguments for each range, and the hard ones."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([_sample(r, n, rng) for r in row.ranges])
    if not row.others:
        return (np.concatenate([x, _hard(row)]).astype(dtype),)
    if row.name == "pow":  # exponents for which the results fill the range
        limit = 708 if dtype == F64 else 87
        y = rng.uniform(-limit, limit, x.size) / np.maximum(np.abs(np.log(x)), 1e-3)
    else:
        y = rng.permutation(np.concatenate([_sample(r, n, rng) for r in row.others]))
    kept = np.maximum(np.abs(x), np.abs(y)) < np.finfo(dtype).max
    return x[kept].astype(dtype), y[kept].astype(dtype)


# ---------------------------------------------------------------- errors


def ulp_errors(got: np.ndarray, exact: list[Any], least: int = -(10**9)) -> np.ndarray:
    """The distance of each value from the exact one, in units of the last place of the exact one, or of 2**least
    where that is more."""
    info = np.finfo(got.dtype)
    smallest = max(int(np.log2(float(info.smallest_subnormal))), least - info.nmant)
    out = np.empty(len(exact))
    for n, (g, e) in enumerate(zip(got.tolist(), exact, strict=True)):
        exponent = max(mp.frexp(e)[1] - info.nmant - 1, smallest) if e else smallest
        out[n] = float(abs(mp.mpf(g) - e) * mp.mpf(2) ** -exponent)
    return out


def exact_errors(row: Row, xs: tuple[np.ndarray, ...]) -> np.ndarray:
    """The errors of a function at `xs` by mpmath; 0 where the exact value is not in the format's range."""
    got, fn = run(row.name, *xs), EXACT[row.name]
    limit = float(np.finfo(got.dtype).max)
    angles = row.name in ("sin", "cos", "tan") and np.abs(xs[0]).max() > 1e30
    with mp.workprec(1300 if angles else 250), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = [fn(*map(mp.mpf, v)) for v in zip(*(x.tolist() for x in xs), strict=True)]
        keep = np.array([mp.isfinite(e) and abs(e) <= limit for e in exact])
        errors = np.zeros(len(exact))
        wanted = [e for e, kept in zip(exact, keep, strict=True) if kept]
        errors[keep] = ulp_errors(got[keep], wanted, 0 if row.against else -(10**9))
    return errors


def worst_of(row: Row, xs: tuple[np.ndarray, ...], around: int = 500) -> tuple[np.ndarray, ...]:
    """The arguments with the largest errors, as far as long double arithmetic can tell, and of `around` close to each
    of them; 4000 at random where there is no such arithmetic."""
    fn = _LONG.get(row.name) or getattr(np, row.name, None)
    if fn is None or np.finfo(np.longdouble).nmant < 60:
        chosen = np.random.default_rng(1).permutation(xs[0].size)[:4000]
        return tuple(x[chosen] for x in xs)
    worst = _largest_errors(row.name, fn, xs)
    return _largest_errors(row.name, fn, _neighbours(worst, around))


def _largest_errors(
    name: str, fn: Callable[..., Any], xs: tuple[np.ndarray, ...], keep: int = 200
) -> tuple[np.ndarray, ...]:
    with np.errstate(all="ignore"):
        got = run(name, *xs).astype(np.longdouble)
        exact = fn(*[x.astype(np.longdouble) for x in xs])
        info = np.finfo(xs[0].dtype)
        unit = np.ldexp(np.longdouble(1), np.maximum(np.frexp(exact)[1] - 1, info.minexp) - info.nmant)
        errors = np.nan_to_num(np.abs(got - exact) / unit, posinf=0)
    worst = np.argsort(errors)[-keep:]
    return tuple(x[worst] for x in xs)


def _neighbours(xs: tuple[np.ndarray, ...], n: int) -> tuple[np.ndarray, ...]:
    """`xs`, and `n` arguments around each, within a thousandth of a millionth of its size."""
    rng = np.random.default_rng(2)
    near = [(x * (1 + rng.uniform(-1e-9, 1e-9, (n, x.size)))).ravel().astype(x.dtype) for x in xs]
    return tuple(np.concatenate([x, v]) for x, v in zip(xs, near, strict=True))


def single_error(name: str) -> Callable[..., Any]:
    """The kernel of a float32 function's error, against the float64 function; 0 where both are NaN or infinite."""

    def kernel(k: Any, *xs: Any) -> Any:
        got = k.math(name, *xs) if name not in _FORMULAS else _FORMULAS[name](k, *xs)
        wide = [k.cast(x, F64) for x in xs]
        exact = k.math(name, *wide) if name not in _FORMULAS else _FORMULAS[name](k, *wide)
        size = k.float_op("fabs", exact)
        least = k.select(k.gt(size, 2.0**-126), size, k.const(2.0**-126, F64))
        unit = k.bitcast(k.and_(k.bitcast(least, I64), -1 << 52), F64) * 2.0**-23
        error = k.float_op("fabs", k.cast(got, F64) - exact) / unit
        same = k.or_(k.eq(got, k.cast(exact, F32)), k.and_(k.isnan(got), k.isnan(exact)))
        finite = k.lt(k.float_op("fabs", got), np.inf)
        apart = k.select(same, k.const(0.0, F64), k.const(np.inf, F64))
        return k.cast(k.select(finite, error, apart), F32)

    return kernel


#: f(-x) is f(x) or -f(x) to the bit, or NaN: the positive numbers are enough.
SYMMETRIC = (
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arctanh",
    "cbrt",
    "erf",
)
POSITIVE = ("log", "log2", "log10", "arccosh")


def every_single(step: int = 1, chunk: int = 1 << 16, count: int = 1 << 32) -> Iterator[np.ndarray]:
    """All float32, or every `step`th, by chunks, in the order of their bits: the first half are the positive ones. A
    chunk is overwritten by the next."""
    offsets = np.arange(chunk, dtype=np.uint32) * np.uint32(step)
    bits = np.empty_like(offsets)
    for start in range(0, count, chunk * step):
        left = -((start - count) // step)
        np.add(offsets, np.uint32(start), out=bits)
        yield bits[:left].view(np.float32)


def worst_single(name: str, step: int = 1) -> tuple[float, float]:
    """(the largest error of a float32 function of one argument, where)."""
    kernel = single_error(name)
    worst, where = -1.0, 0.0
    for x in every_single(step, count=1 << 31 if name in SYMMETRIC + POSITIVE else 1 << 32):
        errors = mapped(kernel, F32, x)
        if not errors.max() <= worst:
            n = int(np.argmax(errors))
            worst, where = float(errors[n]), float(x[n])
    return worst, where
