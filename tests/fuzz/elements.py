"""Productions that compute: functions of elements, reductions, products, orders."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.env import Env, Refused
from tests.fuzz.statements import DTYPES, assign, number, rounds
from tracejit.numpy.elementwise import TABLE

UNARY = sorted(n for n in TABLE if getattr(np, n).nin == 1)
BINARY = sorted(n for n in TABLE if getattr(np, n).nin == 2)
OPERATORS = ["+", "-", "*", "/", "//", "%", "<", "<=", ">", "!=", "==", "&", "|", "^", "@", "**"]
REDUCTIONS = [
    "sum",
    "prod",
    "max",
    "min",
    "mean",
    "var",
    "std",
    "any",
    "all",
    "argmax",
    "argmin",
    "ptp",
    "median",
]
EXACT_REDUCTIONS = {"max", "min", "any", "all", "argmax", "argmin", "ptp"}
RUNNING = ["cumsum", "cumprod"]


def has_nan(e: Env, x: str) -> bool:
    """Whether there are NaNs, whose signs mean nothing."""
    value = np.asarray(e.value(x))
    return value.dtype.kind in "fc" and bool(np.isnan(value).any())


def unary(e: Env) -> None:
    f, x = e.one_of(*UNARY), e.pick()
    if f == "signbit" and has_nan(e, x):
        raise Refused
    outs = getattr(np, f).nout
    assign(e, f"np.{f}({x})", rounds(e, f, x), outs)


def binary(e: Env) -> None:
    f, x = e.one_of(*BINARY), e.pick()
    y = e.pick() if e.rng.random() < 0.75 else number(e)
    if e.rng.random() < 0.15:
        x, y = y, x
    outs = getattr(np, f).nout
    if f == "copysign" and y in e.spaces[0] and has_nan(e, y):
        raise Refused
    if f in ("left_shift", "right_shift", "bitwise_left_shift", "bitwise_right_shift", "ldexp"):
        y = f"({y} % 5)"
    assign(e, f"np.{f}({x}, {y})", rounds(e, f, x, y), outs)


def operator(e: Env) -> None:
    op, x = e.one_of(*OPERATORS), e.pick()
    y = e.pick() if e.rng.random() < 0.7 else number(e)
    exact = op not in ("@", "**") and not rounds(e, "add", x, y)
    if op == "@":
        x, y = felt(x), felt(y)
    text = f"{x} {op} {y}" if e.rng.random() < 0.8 else f"{y} {op} {x}"
    assign(e, text, not exact)


def felt(x: str) -> str:
    return f"L.felt({x})"


def expression(e: Env) -> None:
    """A longer one: what fuses."""
    x, y, z = e.pick("f"), e.pick("f"), e.pick("f")
    if {np.asarray(e.value(v)).dtype for v in (x, y, z)} != {np.dtype(float)}:
        raise Refused  # the inner results of a narrow dtype round more than the outer one shows
    form = e.one_of(
        "np.sin({x}) * {y} + {z}",
        "np.tanh({x} - {y}) * {z}",
        "({x} * {y} + {z}) / (1.0 + {x} * {x})",
        "np.exp(-{x} * {x}) + {y} * 0.5",
        "np.sqrt(np.abs({x}) + 1) * {y}",
        "np.log1p({x} * {x}) - {z}",
        "np.interp({x}, np.arange(4.0), np.arange(4.0) ** 2)",
        "np.where({x} > {y}, {x}, {z})",
        "np.maximum({x}, {y}) - np.minimum({x}, {z})",
        "np.arctan2({x}, np.abs({y}) + 0.5) * np.cos({z})",
    )
    assign(e, form.format(x=felt(x), y=felt(y), z=felt(z)), True)


def where(e: Env) -> None:
    p, x = e.pick("b"), e.pick()
    y = e.pick() if e.rng.random() < 0.7 else number(e)
    assign(e, e.one_of(f"np.where({p}, {x}, {y})", f"np.select([{p}], [{x}], {y})"))


def clip(e: Env) -> None:
    assign(
        e, f"np.clip({e.pick('iuf')}, {e.one_of(0, -0.5, 'None')}, {e.one_of(1, 2, 1.5)}) + 0"
    )  # of two zeros either


def cast(e: Env) -> None:
    d, x = e.one_of(*DTYPES), e.pick()
    if e.special and np.asarray(e.value(x)).dtype.kind in "fc" and np.dtype(d).kind in "iu":
        raise Refused  # the C standard leaves it open
    method = e.one_of("{x}.astype(np.{d})", "np.asarray({x}, dtype=np.{d})", "np.array({x}, dtype=np.{d})")
    assign(e, method.format(x=x, d=d))


def complexes(e: Env) -> None:
    x = e.pick("c") if e.rng.random() < 0.7 else e.pick("f")
    form = e.one_of(
        "np.real({x})", "{x}.imag", "np.conj({x})", "np.abs({x})", "{x} * 1j", "({x} + 0.5j)", "np.angle({x})"
    )
    assign(e, form.format(x=x), bool("abs" in form or "angle" in form or "*" in form))


# ---------------------------------------------------------------- reductions, products, orders


def axis(e: Env, x: str) -> str:
    n = np.ndim(e.value(x))
    choices = ["", *(f"axis={a}" for a in range(-n, n))]
    if n > 1:
        choices.append("axis=(0, 1)")
    chosen = e.one_of(*choices)
    return chosen + ", keepdims=True" if chosen and e.rng.random() < 0.3 else chosen


def reduction(e: Env) -> None:
    f, x = e.one_of(*REDUCTIONS), e.pick()
    where = axis(e, x)
    if f in ("any", "all", "argmax", "argmin", "median") and "(0, 1)" in where:
        raise Refused
    exact = f in EXACT_REDUCTIONS
    text = x if exact else felt(x)
    text = (
        f"np.{f}({text}{', ' if where else ''}{where})"
        if e.rng.random() < 0.6 or f in ("ptp", "median")
        else f"{text}.{f}({where})"
    )
    if f in ("max", "min", "ptp") and np.asarray(e.value(x)).dtype.kind == "f":
        text += " + 0"  # which of two zeros it is depends on the order
    assign(e, text, not exact)


def running(e: Env) -> None:
    f, x = e.one_of(*RUNNING), e.pick(low=1)
    assign(e, f"np.{f}({felt(x)}, axis={int(e.rng.integers(np.ndim(e.value(x))))})", True)


def overflows_beside_infinity(x: Any, y: Any) -> bool:
    """Whether products of finite numbers may overflow in a sum with infinite terms: inside of BLAS's fused
    multiply-adds they don't, so that a sum may be infinite there and NaN elsewhere."""
    sizes = [np.abs(np.asarray(v).astype(complex)) for v in (x, y)]
    infinite = any(np.isinf(s).any() for s in sizes)
    return infinite and all((s[np.isfinite(s)] > 1e150).any() for s in sizes)


def product(e: Env) -> None:
    x, y = e.pick("ifc"), e.pick("ifc")
    form = e.one_of(
        "{x} @ {y}",
        "np.dot({x}, {y})",
        "np.matmul({x}, {y})",
        "{x}.T @ {y}",
        "np.outer({x}, {y})",
        "np.inner({x}, {y})",
        "np.tensordot({x}, {y}, 1)",
        "np.einsum('ij,ij->i', {x}, {y})",
        "np.einsum('i,i', {x}, {y})",
        "np.einsum('...i->...', {x})",
        "np.vdot({x}, {y})",
        "np.kron({x}, {y})",
        "np.linalg.norm({x})",
        "np.trace({x})",
        "np.convolve({x}, {y})",
        "np.cross({x}, {y})",
    )
    if (
        e.special
        and ("np.dot" in form or "np.inner" in form)
        and 0 in (np.ndim(e.value(x)), np.ndim(e.value(y)))
    ):
        raise Refused  # BLAS gives 0 for NaN times 0
    if e.special and overflows_beside_infinity(e.value(x), e.value(y)):
        raise Refused
    if e.special and "ij,ij" in form and np.shape(e.value(x)) != np.shape(e.value(y)):
        raise Refused  # whether NumPy sums before it multiplies depends on layout and dtype
    assign(e, form.format(x=felt(x), y=felt(y)), True)


def order(e: Env) -> None:
    x = e.pick("biuf", low=1)
    form = e.one_of(
        "np.sort({x})",
        "np.sort({x}, axis=0)",
        "np.argsort({x}, kind='stable')",
        "np.sort({x})[..., ::-1]",
        "np.take_along_axis({x}, np.argsort({x}, axis=-1, kind='stable'), -1)",
        "np.bincount(np.abs({x}.ravel()).astype(np.int64) % 5, minlength=5)",
        "np.count_nonzero({x}, axis=0)",
    )
    assign(e, form.format(x=x, y=e.pick("iuf")))
