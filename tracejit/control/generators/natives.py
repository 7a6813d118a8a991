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
#: Numbers that are drawn one by one from here: more of them are drawn faster by NumPy's own loop.
_FEW = 1000
_LEGACY = ("random", "random_sample", "rand")

#: Writes the code of a draw: (k, the address of the interface, operands' buffers, the result's buffer, its elements).
Writer = Callable[[Any, Any, list[Any], Any, int], None]


def writer_of(draw: Draw, aval: Aval) -> tuple[str, Writer] | None:
    """The C function for a draw with a result of this type, and what writes its call; None where there is none."""
    if not draw.handle.is_native or draw.returns is not None or (draw.kinds and not draw.checked):
        return None
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
    whole = draw.method in _WHOLE
    names = _WHOLE.get(draw.method) if whole else _FLOATS.get(draw.method)
    return None if names is None else _one_by_one(draw, names, whole, aval)


def _of_python(draw: Draw) -> tuple[str, Writer] | None:
    """Draws of `random.Random` that are made of its C functions."""
    if draw.method == "random":
        symbol = "python_random"

        def write(k: Any, bits: Any, operands: list[Any], out: Any, count: int) -> None:
            k.store(out, 0, k.call(k.external(f"random:{symbol}", "f64(i64)"), (bits,), out=_F64))

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
        drawn = k.call(target, (bits, k.const(size, _I64)), out=_I64)
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
        k.call(k.external(f"random:{symbol}", "void(i64,i64,ptr)"), (bits, k.const(count, _I64), out))

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
        k.call(target, (bits, first, k.sub(last, first), k.const(count, _I64), which, out))

    return symbol, write


def _one_by_one(draw: Draw, names: tuple[str, ...], whole: bool, aval: Aval) -> tuple[str, Writer] | None:
    known: dict[str, Any] = {**{n: _DEFAULTS[n] for n in names if n in _DEFAULTS}, **draw.static}
    usual = aval.dtype == (_I64 if whole else _F64) and np.dtype(known.get("dtype", aval.dtype)) == aval.dtype
    if draw.kinds or known.get("out") is not None or not usual or aval.size > _FEW:
        return None
    if not all(isinstance(known.get(n), (int, float, np.number)) for n in names):
        return None
    symbol, values = f"random_{draw.method}", [float(known[n]) for n in names]
    signature = f"{'i64' if whole else 'f64'}({','.join(['i64', *['f64'] * len(names)])})"

    def write(k: Any, bits: Any, operands: list[Any], out: Any, count: int) -> None:
        target, params = k.external(f"random:{symbol}", signature), [k.const(x, _F64) for x in values]
        with k.loop(0, count) as i:
            k.store(out, i, k.call(target, (bits, *params), out=aval.dtype))

    return symbol, write
