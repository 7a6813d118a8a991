"""Draws as native code: calls of NumPy's own C functions, which Python's methods call too, on the bit generator's
interface.

A function is called from here if it is that of the method, for the same arguments in the same order, for arrays
element by element. So the numbers are NumPy's, bit for bit.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.control.generators.draws import Draw, Static
from tracejit.ir.avals import Aval

_I64, _F64, _F32 = np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.float32)
#: Methods of `Generator` without parameters, and the C functions that fill arrays.
_FILLS = {"random": "uniform", "standard_normal": "normal", "standard_exponential": "exponential"}
#: Those with parameters, in the order of the C function `random_<name>` of a number.
_FLOATS: dict[str, tuple[str, ...]] = {
    "laplace": ("loc", "scale"),
    "logistic": ("loc", "scale"),
    "gumbel": ("loc", "scale"),
    "lognormal": ("mean", "sigma"),
    "standard_gamma": ("shape",),
    "gamma": ("shape", "scale"),
    "beta": ("a", "b"),
    "chisquare": ("df",),
    "noncentral_chisquare": ("df", "nonc"),
    "f": ("dfnum", "dfden"),
    "noncentral_f": ("dfnum", "dfden", "nonc"),
    "standard_cauchy": (),
    "standard_t": ("df",),
    "pareto": ("a",),
    "weibull": ("a",),
    "power": ("a",),
    "rayleigh": ("scale",),
    "vonmises": ("mu", "kappa"),
    "wald": ("mean", "scale"),
    "triangular": ("left", "mode", "right"),
}
_WHOLE: dict[str, tuple[str, ...]] = {
    "poisson": ("lam",),
    "geometric": ("p",),
    "logseries": ("p",),
    "zipf": ("a",),
    "negative_binomial": ("n", "p"),
}
_DEFAULTS = {"loc": 0.0, "scale": 1.0, "mean": 0.0, "sigma": 1.0, "lam": 1.0}
#: About how many instructions a number takes.
_COST = 100
#: Swaps whose places are drawn before them.
_AHEAD = 64
_LEGACY = ("random", "random_sample", "rand")

#: Writes the code of a draw: (k, the address of the interface, operands' buffers, the result's buffer, its elements).
Writer = Callable[[Any, Any, list[Any], Any, int], None]


def writer_of(draw: Draw, aval: Aval) -> tuple[str, Writer] | None:
    """The C function for a draw with a result of this type, and what writes its call; None where there is none."""
    if not draw.handle.is_native or draw.returns is not None or (draw.kinds and not draw.checked):
        return None
    if draw.method == "permutation":
        return _permuted(draw)
    if draw.handle.generator is np.random.RandomState:
        if draw.method in _LEGACY:
            return _fill("random_standard_uniform_fill")
        return _bounded(draw, True) if draw.method == "randint" and aval.dtype == _I64 else None
    if draw.handle.generator is random.Random:
        return _of_python(draw)
    if draw.method in _FILLS:
        return _filling(draw, aval)
    if draw.method == "integers":
        return _bounded(draw, False) if aval.dtype == _I64 else None
    if draw.method == "binomial":
        return _binomial(draw, aval)
    whole = draw.method in _WHOLE
    names = _WHOLE.get(draw.method) if whole else _FLOATS.get(draw.method)
    return None if names is None else _one_by_one(draw, names, whole, aval)


def _of_python(draw: Draw) -> tuple[str, Writer] | None:
    """Draws of `random.Random` that are made of its C functions."""
    if draw.method == "random":
        symbol = "python_random"

        def write(k: Any, bits: Any, operands: list[Any], out: Any, count: int) -> None:
            k.store(out, 0, k.call(k.external(f"random:{symbol}", "f64(i64)"), (bits,), out=_F64, cost=_COST))

        return symbol, write
    known = draw.static
    if draw.method == "randint":
        first, size = known.get("a"), _difference(known.get("a"), known.get("b")) + 1
    elif draw.method == "randrange" and known.keys() == {"start"}:
        first, size = 0, _difference(0, known["start"])
    elif draw.method == "choice" and type(known.get("seq")) is range:
        first, size = known["seq"].start if known["seq"].step == 1 else None, len(known["seq"])
    else:
        return None
    return _below(first, size) if type(first) is int and 0 < size < 2**32 and abs(first) < 2**62 else None


def _difference(a: Any, b: Any) -> int:
    """b - a; -1 if they are not both known integers."""
    return b - a if type(a) is int and type(b) is int else -1


def _below(first: int, size: int) -> tuple[str, Writer]:
    symbol = "python_below"

    def write(k: Any, bits: Any, operands: list[Any], out: Any, count: int) -> None:
        target = k.external(f"random:{symbol}", "i64(i64,i64)")
        drawn = k.call(target, (bits, k.const(size, _I64)), out=_I64, cost=_COST)
        k.store(out, 0, k.add(drawn, k.const(first, _I64)))

    return symbol, write


def _filling(draw: Draw, aval: Aval) -> tuple[str, Writer] | None:
    known = draw.static
    if known.get("out") is not None or known.get("method", "zig") != "zig":
        return None
    name, dtype = f"random_standard_{_FILLS[draw.method]}_fill", np.dtype(known.get("dtype", _F64))
    if aval.dtype != dtype:  # a float of Python's that is rounded to single precision
        return None
    return _fill(name) if dtype == _F64 else _fill(f"{name}_f") if dtype == _F32 else None


def _fill(symbol: str) -> tuple[str, Writer]:
    def write(k: Any, bits: Any, operands: list[Any], out: Any, count: int) -> None:
        target = k.external(f"random:{symbol}", "void(i64,i64,ptr)")
        k.call(target, (bits, k.const(count, _I64), out), cost=_COST * max(count, 1))

    return symbol, write


def _bounded(draw: Draw, masked: bool) -> tuple[str, Writer] | None:
    """Integers between two bounds, of which operands have been looked at: they are numbers, the lower one first."""
    leaves = {a.name: a.leaves for a in draw.arguments}
    low, high = leaves.get("low", ()), leaves.get("high", (Static(None, type(None)),))
    endpoint = draw.static.get("endpoint", False)
    if type(endpoint) is not bool or len(low) != 1 or len(high) > 1:
        return None
    bounds = (Static(0, int), low[0]) if not high or high[0] == Static.of(None) else (low[0], high[0])
    if any(type(b) is Static and not isinstance(b.value, (int, np.integer)) for b in bounds):
        return None
    symbol = "random_bounded_uint64_fill"

    def write(k: Any, bits: Any, operands: list[Any], out: Any, count: int) -> None:
        given = iter(operands)
        first, last = (
            k.const(int(b.value), _I64) if type(b) is Static else k.cast(k.load(next(given), 0), _I64)
            for b in bounds
        )
        last = last if endpoint else k.sub(last, k.const(1, _I64))
        target = k.external(f"random:{symbol}", "void(i64,i64,i64,i64,i32,ptr)")
        which = k.const(int(masked), np.dtype(np.int32))
        k.call(
            target,
            (bits, first, k.sub(last, first), k.const(count, _I64), which, out),
            cost=_COST * max(count, 1),
        )

    return symbol, write


def _one_by_one(draw: Draw, names: tuple[str, ...], whole: bool, aval: Aval) -> tuple[str, Writer] | None:
    known: dict[str, Any] = {**{n: _DEFAULTS[n] for n in names if n in _DEFAULTS}, **draw.static}
    usual = aval.dtype == (_I64 if whole else _F64) and np.dtype(known.get("dtype", aval.dtype)) == aval.dtype
    if draw.kinds or known.get("out") is not None or not usual:
        return None
    if not all(isinstance(known.get(n), (int, float, np.number)) for n in names):
        return None
    values = [float(known[n]) for n in names]
    factor = values.pop() if draw.method == "gamma" else None  # so C does, after one call more
    symbol = "random_standard_gamma" if factor is not None else f"random_{draw.method}"
    signature = f"{'i64' if whole else 'f64'}({','.join(['i64', *['f64'] * len(values)])})"

    def write(k: Any, bits: Any, operands: list[Any], out: Any, count: int) -> None:
        target, params = k.external(f"random:{symbol}", signature), [k.const(x, _F64) for x in values]
        with k.loop(0, count) as i:
            x = k.call(target, (bits, *params), out=aval.dtype, cost=_COST)
            k.store(out, i, x if factor is None else k.mul(k.const(factor, _F64), x))

    return symbol, write


def _binomial(draw: Draw, aval: Aval) -> tuple[str, Writer] | None:
    """C keeps what it computes of the parameters in a block of the caller's, which begins with zeros."""
    n, p = draw.static.get("n"), draw.static.get("p")
    if draw.kinds or type(n) is not int or not isinstance(p, (int, float, np.floating)) or aval.dtype != _I64:
        return None
    symbol, words = "random_binomial", 32

    def write(k: Any, bits: Any, operands: list[Any], out: Any, count: int) -> None:
        target = k.external(f"random:{symbol}", "i64(i64,f64,i64,ptr)")
        kept = k.buffer(f"kept{len(k.program.buffers)}", _I64, words, "stack")
        with k.loop(0, words) as i:
            k.store(kept, i, k.const(0, _I64))
        with k.loop(0, count) as i:
            args = bits, k.const(float(p), _F64), k.const(n, _I64), kept
            k.store(out, i, k.call(target, args, out=_I64, cost=_COST))

    return symbol, write


def _permuted(draw: Draw) -> tuple[str, Writer] | None:
    """The order of a shuffle, for which each element from the last one on is swapped with one that is drawn.

    What is drawn does not depend on the elements. It is drawn for a block of swaps ahead, so that the processor waits
    for the memory of many swaps at a time: in large arrays that is what takes the time.
    """
    size = draw.static.get("x")
    if type(size) is not int or size < 0:
        return None
    symbol = "random_interval"

    def write(k: Any, bits: Any, operands: list[Any], out: Any, count: int) -> None:
        target = k.external(f"random:{symbol}", "i64(i64,i64)")
        ahead = k.buffer(f"ahead{len(k.program.buffers)}", _I64, _AHEAD, "stack")

        def swap(last: Any, many: int) -> None:
            with k.loop(0, many) as n:
                k.store(ahead, n, k.call(target, (bits, k.sub(last, n)), out=_I64, cost=_COST))
            with k.loop(0, many) as n:
                one, other = k.sub(last, n), k.load(ahead, n)
                x, y = k.load(out, one), k.load(out, other)
                k.store(out, one, y)
                k.store(out, other, x)

        with k.loop(0, count) as i:
            k.store(out, i, i)
        blocks, rest = divmod(max(count - 1, 0), _AHEAD)
        with k.loop(0, blocks) as block:
            swap(k.sub(count - 1, k.mul(block, _AHEAD)), _AHEAD)
        if rest:
            swap(k.const(rest, _I64), rest)

    return symbol, write
