"""The comparison of a program by tracejit with the same program by NumPy alone.

Where disturbing what rounds does not change an output, the output must have NumPy's bits.
"""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import tracejit as tj
from tests.fuzz.program import Loaded
from tests.fuzz.spellings import NOISE, Plain, Traced
from tracejit.errors import OuterWriteError, TracerArrayError, TracerIntegerError, UnsupportedFunctionError

Values = list[Any]
#: What each way of running a program gives: (outputs and updated arguments) by tracejit, and by NumPy.
SLACK = 3.0


class Mismatch(AssertionError):
    """A program that means something else by tracejit."""


class Invalid(Exception):
    """A program that does not run by NumPy alone: the minimiser's cuts may make such ones."""


@contextmanager
def quiet() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def plainly(p: Loaded, sign: float = 0.0, row: int | None = None) -> tuple[Values, Values]:
    """(outputs, arguments afterwards) by NumPy."""
    inputs, fn = p.load(Plain(sign))
    args = list(inputs()) if row is None else lanes_of(p, row)
    outs = list(fn(*args))
    return [np.array(o) for o in outs], [np.array(a) for a in args]


def oracle(p: Loaded, run: Callable[[float], Values]) -> list[tuple[Any, Any]]:
    """Values, and how far each may be off (None: not in any bit; 0: but in the sign of zeros)."""
    try:
        with quiet():
            clean, up, down = run(0.0), run(1.0), run(-1.0)
    except Exception as e:
        raise Invalid(repr(e)) from e
    exact = None if "L.rounded" not in p.source else 0.0  # two disturbed signs of zeros may cancel
    return [(c, spread(exact, c, u, d)) for c, u, d in zip(clean, up, down, strict=True)]


def spread(exact: float | None, clean: Any, *others: Any) -> Any:
    if clean.dtype.kind not in "fc":
        return exact
    with quiet():
        off, equal = 0.0, True
        for o in others:
            equal = equal and clean.tobytes() == o.tobytes()
            d = np.abs(clean - o)
            off = max(off, float(np.max(d[np.isfinite(d)], initial=0.0)))
        finite = np.abs(clean[np.isfinite(clean)])
        most = float(finite.max(initial=0.0))
    return exact if equal else SLACK * off + NOISE[str(clean.dtype)] * 0.1 * most + np.finfo(clean.dtype).tiny


def compare(got: Values, want: list[tuple[Any, Any]], what: str) -> None:
    if len(got) != len(want):
        raise Mismatch(f"{what}: {len(got)} values, not {len(want)}")
    for n, (g, (w, off)) in enumerate(zip(got, want, strict=True)):
        g = np.asarray(g)
        if g.dtype != w.dtype or g.shape != w.shape:
            raise Mismatch(f"{what}, value {n}: {g.dtype}{g.shape}, not {w.dtype}{w.shape}")
        if not alike(g, w, off):
            raise Mismatch(f"{what}, value {n} (off by at most {off}):\n{g!r}\nNumPy:\n{w!r}")


def alike(g: Any, w: Any, off: Any) -> bool:
    if g.dtype.kind not in "fc":
        return bool(np.array_equal(g, w))
    if g.dtype.kind == "c":
        return alike(g.real, w.real, off) and alike(g.imag, w.imag, off)
    nan = np.isnan(w)
    if not np.array_equal(nan, np.isnan(g)):
        return False
    g, w = g[~nan], w[~nan]
    if off is None:
        return g.tobytes() == w.tobytes()
    with quiet():
        return bool(np.all((g == w) | (np.abs(g - w) <= off)))


# ---------------------------------------------------------------- one way of running each


def lanes_of(p: Loaded, row: int) -> Values:
    """Arguments of lane `row`: the program's own, those in floating point moved a little."""
    inputs, _ = p.load(Plain())
    args = list(inputs())
    for n, a in enumerate(args):
        if row and np.asarray(a).dtype.kind in "fc":
            args[n] = (a * np.asarray(1 + 0.125 * row, a.dtype)).astype(a.dtype)[()]
        else:
            args[n] = np.array(a)[()]
    return args


def check_eager(p: Loaded) -> None:
    """Without a transformation: only control flow is tracejit's."""
    want = oracle(p, lambda s: functools.reduce(operator.iadd, plainly(p, s), []))
    inputs, fn = p.load(Traced())
    with quiet():
        args = list(inputs())
        got = list(fn(*args))
    compare(got + args, want, "eager")


def check_jit(p: Loaded) -> None:
    check_batch([p])


def check_batch(programs: Sequence[Loaded]) -> None:
    """Many programs in one compiled function; arguments are updated as by NumPy."""
    wants = [oracle(p, lambda s, p=p: functools.reduce(operator.iadd, plainly(p, s), [])) for p in programs]
    pairs = [p.load(Traced()) for p in programs]
    functions = [fn for _, fn in pairs]

    def together(args: list[Any]) -> list[Any]:
        return [f(*a) for f, a in zip(functions, args, strict=True)]

    with quiet():
        args = [tuple(inputs()) for inputs, _ in pairs]
        outs = tj.jit(together)(args)
    for p, out, a, want in zip(programs, outs, args, wants, strict=True):
        compare([*out, *a], want, f"jit of program {p.seed}")


def check_vmap(p: Loaded) -> None:
    want = oracle(p, lambda s: stack_rows([plainly(p, s, row)[0] for row in range(3)]))
    if writes_into_constants(p):  # no lane's write may be seen by the others: refused where it is noticed
        return
    with quiet():
        rows = [lanes_of(p, row) for row in range(3)]
        got = tj.jit(tj.vmap(p.load(Traced())[1]))(*[np.stack(a) for a in zip(*rows, strict=True)])
        eager = tj.vmap(p.load(Traced())[1])(*[np.stack(a) for a in zip(*rows, strict=True)])
    compare(list(eager), want, "vmap")
    compare(list(got), want, "jit(vmap)")


def writes_into_constants(p: Loaded) -> bool:
    inputs, fn = p.load(Plain())
    constants = [x for x in fn.__globals__.values() if isinstance(x, np.ndarray)]
    before = [x.copy() for x in constants]
    with quiet():
        fn(*inputs())
    return any(x.tobytes() != y.tobytes() for x, y in zip(constants, before, strict=True))


def stack_rows(rows: list[Values]) -> Values:
    try:
        return [np.stack(values) for values in zip(*rows, strict=True)]
    except ValueError as e:
        raise Invalid("a shape depends on a value") from e


def check_derivatives(p: Loaded) -> None:
    """Along a random direction: forward and reverse against difference quotients of the NumPy program."""
    if not p.derivative:
        return
    rng = np.random.default_rng(p.seed)
    args = lanes_of(p, 0)
    active = [n for n, a in enumerate(args) if np.asarray(a).dtype == np.float64]
    xs = [args[n] for n in active]
    ts = [np.asarray(rng.standard_normal(np.shape(x)))[()] for x in xs]
    if not active:
        return

    def loss_of(fn: Any) -> Callable[..., Any]:
        def loss(*floats: Any) -> Any:
            full = [np.array(a)[()] for a in args]
            for n, x in zip(active, floats, strict=True):
                full[n] = x
            total = 0.0
            for k, o in enumerate(fn(*full)):
                if o.dtype.kind == "f" or o.dtype.kind == "c":
                    total = total + np.sum(np.real(o) * np.cos(0.3 * k + 1.0))
            return np.asarray(total, dtype=np.float64)[()]

        return loss

    want = difference_quotient(p, loss_of, xs, ts)
    if want is None:
        return
    _value, slope, tolerance = want

    def loss() -> Any:  # of a program loaded anew: it may write into its constants
        return loss_of(p.load(Traced())[1])

    with quiet():
        nums = tuple(range(len(xs)))
        compared = {}
        if "with_vjp" not in p.source:  # which has a derivative in reverse only
            compared["jvp"] = tj.jvp(loss(), tuple(xs), tuple(ts))[1]
        for name, jit in (("grad", lambda f: f), ("jit(grad)", tj.jit)):
            if name == "grad" or p.seed % 8 == 0:
                gs = jit(tj.grad(loss(), nums))(*[np.array(x)[()] for x in xs])
                compared[name] = sum(np.sum(g * t) for g, t in zip(gs, ts, strict=True))
    for name, found in compared.items():
        if not abs(found - slope) <= tolerance:
            raise Mismatch(f"{name}: {found}, by differences {slope} within {tolerance}")


def difference_quotient(p: Loaded, loss_of: Any, xs: Values, ts: Values) -> Any:
    """(value, slope, how sure); None where the program has an edge near its arguments."""

    plain = Plain()

    def at(h: float) -> float:
        fn = loss_of(p.load(plain)[1])
        return float(fn(*[np.asarray(x + h * t)[()] for x, t in zip(xs, ts, strict=True)]))

    def quotient(h: float) -> float:
        return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)

    try:
        with quiet():
            value = at(0.0)
            coarse, fine, other = quotient(2e-4), quotient(1e-4), quotient(0.37e-4)
            jump = at(1e-9) - at(-1e-9)
    except Exception as e:
        raise Invalid(repr(e)) from e
    scale = 1e-6 * (1 + abs(value) + abs(fine))
    sure = np.isfinite(fine) and abs(coarse - fine) < scale and abs(other - fine) < scale
    sure = sure and abs(jump) < 1e-7 * (1 + abs(value) + abs(fine))
    narrow = plain.narrow or "float16" in p.source or "float32" in p.source  # differences see the rounding
    return (value, fine, 10 * scale) if sure and not narrow else None


#: Every how many programs are checked in these ways.
SHARES = {"eager": 3, "derivatives": 4, "vmap": 9}

CHECKS: dict[str, Callable[[Loaded], None]] = {
    "eager": check_eager,
    "jit": check_jit,
    "vmap": check_vmap,
    "derivatives": check_derivatives,
}


def check_many(programs: Sequence[Loaded]) -> dict[int, tuple[str, str]]:
    """What fails among many programs: {number: (which check, what is wrong)}.

    All are compiled together, and one by one where that fails; a part is also run in the other ways.
    """
    failed = {}
    try:
        check_batch(programs)
    except Exception:
        failed = {n: ("jit", text) for n, p in enumerate(programs) if (text := fails(p, "jit"))}
    for n, p in enumerate(programs):
        for how, share in SHARES.items():
            if p.seed % share == 0 and n not in failed and (text := fails(p, how)):
                failed[n] = how, text
    return failed


def fails(p: Loaded, how: str) -> str:
    """What is wrong with the program, '' if nothing is."""
    try:
        CHECKS[how](p)
    except (Invalid, UnsupportedFunctionError):
        return ""
    except OuterWriteError as e:  # lanes may not write into what is not theirs: refused, and said so
        return "" if how == "vmap" else f"{type(e).__name__}: {e}"
    except (TracerArrayError, TracerIntegerError) as e:  # real arrays in eager loops: refused, and said so
        return "" if how != "jit" else f"{type(e).__name__}: {e}"
    except Mismatch as e:
        return f"Mismatch: {e}"
    except Exception as e:
        return f"{type(e).__name__}: {str(e)[:600]}"
    return ""
