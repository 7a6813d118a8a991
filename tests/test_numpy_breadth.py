"""Every public function of NumPy works on traced arrays as on real ones, or says why it does not.

Each example call is compared with NumPy: eagerly under differentiation, under jit, under vmap (and jit of it),
and its derivatives with differences. A name without a call that is not refused either fails the test.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy
from tests.numpy.breadth_dtypes import OF_ANY_DTYPE
from tests.numpy.breadth_table import CALLS, METHODS, Call
from tracejit import dtypes
from tracejit.errors import (
    ArgumentTypeError,
    DataDependentShapeError,
    RefusedFunctionError,
    TracejitError,
    UnfollowedError,
)
from tracejit.numpy.boxes.methods import REFUSED as REFUSED_METHODS
from tracejit.numpy.dispatch import NAMES, NUMPY_TO_TRACEJIT
from tracejit.numpy.functions.questions import PASSED_ON
from tracejit.numpy.functions.refused import REFUSED

FUNCTIONS = sorted(
    n
    for n in dir(np)
    if not n.startswith("_") and callable(getattr(np, n)) and not isinstance(getattr(np, n), type)
    and type(getattr(np, n)).__name__ not in ("RClass", "CClass", "IndexExpression", "MGridClass", "OGridClass")
)  # fmt: skip
#: Compared with NumPy, of which there is none: it warns that it is deprecated.
DEPRECATED = {"row_stack", "in1d", "trapz"}

ALL = [pytest.param(c, id=f"{n}-{k}") for n, calls in sorted(CALLS.items()) for k, c in enumerate(calls)]
ALL += [
    pytest.param(c, id=f"ndarray.{n}-{k}")
    for n, calls in sorted(METHODS.items())
    for k, c in enumerate(calls)
]


def leaves(out: Any) -> list[Any]:
    if isinstance(out, (tuple, list)):
        return [leaf for o in out for leaf in leaves(o)]
    return [out]


def fresh(args: tuple[Any, ...]) -> list[Any]:
    return [a.copy() for a in args]


def compare(got: Any, want: Any, rtol: float) -> None:
    gs, ws = leaves(got), leaves(want)
    assert len(gs) == len(ws)
    for g, w in zip(gs, ws, strict=True):
        g, w = np.asarray(g), np.asarray(w)
        assert g.shape == w.shape, f"shape {g.shape}, NumPy's {w.shape}"
        assert g.dtype == w.dtype, f"dtype {g.dtype}, NumPy's {w.dtype}"
        tol = max(rtol, {2: 2e-3, 4: 1e-5}.get(w.dtype.itemsize if w.dtype.kind != "c" else 8, 0))
        np.testing.assert_allclose(g, w, rtol=tol, atol=tol)


def numpys(c: Call, args: Any = None) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return c.fn(*(fresh(c.args) if args is None else args))


def test_every_function_has_a_call_or_a_reason() -> None:
    named = {n for n, calls in CALLS.items() if calls} | set(REFUSED) | set(PASSED_ON) | DEPRECATED
    assert [n for n in FUNCTIONS if n not in named] == []
    assert sorted(n for n in named if not hasattr(np, n)) == sorted(
        n for n in DEPRECATED if not hasattr(np, n)
    )


def test_names_are_numpys() -> None:
    wrong = [n for n in FUNCTIONS if n in NAMES and NUMPY_TO_TRACEJIT.get(getattr(np, n)) is not NAMES[n]]
    assert wrong == [] or set(wrong) <= DEPRECATED
    assert not {"a", "axis", "dtype", "out"} & set(NAMES)


def test_what_is_passed_on_takes_no_arrays() -> None:
    assert not set(PASSED_ON) & {n for n in FUNCTIONS if getattr(np, n) in NUMPY_TO_TRACEJIT}


def test_every_method_has_a_call_or_a_reason() -> None:
    named = {n for n, calls in METHODS.items() if calls} | set(REFUSED_METHODS)
    assert [n for n in dir(np.ndarray) if not n.startswith("_") and n not in named] == []


@pytest.mark.parametrize("name", sorted(REFUSED_METHODS))
def test_what_methods_are_refused_say_why(name: str) -> None:
    def f(x: Any) -> Any:
        return getattr(x, name)()

    for way in (tj.vmap, tj.grad) if name == "tobytes" else (tj.jit, tj.vmap, tj.grad):
        with pytest.raises(RefusedFunctionError, match=name) as caught:
            way(f)(np.ones(3))
        assert REFUSED_METHODS[name][1] in str(caught.value)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_refused_says_why(name: str) -> None:
    def f(x: Any) -> Any:
        fn = getattr(np, name)
        return fn(x, x) if name != "frompyfunc" else fn(lambda v: v, 1, 1)(x)

    with pytest.raises((RefusedFunctionError, TracejitError)) as caught:
        tj.jit(f)(np.ones(3))
    if "files" in REFUSED[name][0]:  # refused as everything is that does more than compute
        assert type(caught.value) is UnfollowedError and "does more than compute" in str(caught.value)
    elif name != "frompyfunc":
        assert type(caught.value) is RefusedFunctionError
        assert REFUSED[name][1] in str(caught.value)


@pytest.mark.parametrize("c", ALL)
def test_eagerly_under_differentiation(c: Call) -> None:
    args = fresh(c.args)
    tangents = [
        np.ones_like(a) if dtypes.is_inexact(a.dtype) else np.zeros(a.shape, dtypes.float0) for a in args
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = tj.jvp(lambda *xs: leaves(c.fn(*xs)), tuple(args), tuple(tangents))[0]
    compare(got, numpys(c), c.rtol)


@pytest.mark.parametrize("c", [p for p in ALL if not p.values[0].known])
@pytest.mark.sample(12)
def test_under_jit(c: Call) -> None:
    compare(tj.jit(c.fn)(*fresh(c.args)), numpys(c), c.rtol)


@pytest.mark.parametrize("c", [p for p in ALL if p.values[0].vmap])
@pytest.mark.sample(12)
def test_under_vmap(c: Call) -> None:
    """Two lanes: the arguments, and the arguments reversed (each along its first axis)."""
    lanes = [fresh(c.args), [a if a.ndim == 0 else a[::-1].copy() for a in c.args]]
    stacked = [np.stack(pair) for pair in zip(*lanes, strict=True)]
    if c.known:
        with pytest.raises(TracejitError):
            tj.vmap(c.fn)(*stacked)
        if c.compiled:
            compare(tj.jit(c.fn)(*fresh(c.args)), numpys(c), c.rtol)
            return
        with pytest.raises(TracejitError):
            tj.jit(c.fn)(*fresh(c.args))
        return
    try:
        wants = [leaves(numpys(c, lane)) for lane in lanes]
    except ValueError:  # the reversed arguments are not valid
        lanes[1] = fresh(c.args)
        stacked = [np.stack(pair) for pair in zip(*lanes, strict=True)]
        wants = [leaves(numpys(c, lane)) for lane in lanes]
    want = [np.stack([np.asarray(w[k]) for w in wants]) for k in range(len(wants[0]))]
    compare(leaves(tj.vmap(c.fn)(*stacked)), want, c.rtol)
    compare(leaves(tj.jit(tj.vmap(c.fn))(*stacked)), want, c.rtol)


def differentiable(c: Call) -> bool:
    if not c.grad or not any(a.dtype == np.float64 for a in c.args):
        return False
    return any(np.asarray(o).dtype.kind in "fc" for o in leaves(numpys(c)))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # NumPy's, of some of its functions
@pytest.mark.parametrize("c", [p for p in ALL if differentiable(p.values[0])])
@pytest.mark.sample(12)
def test_derivatives(c: Call) -> None:
    """jvp against central differences, grad against jvp, jit(grad) against grad."""
    rng = np.random.default_rng(0)
    which = [n for n, a in enumerate(c.args) if a.dtype == np.float64]
    wants = [np.asarray(o) for o in leaves(numpys(c))]
    weights = [rng.normal(size=w.shape) if w.dtype.kind in "fc" else None for w in wants]

    def loss(*xs: Any) -> Any:
        args = fresh(c.args)
        for n, x in zip(which, xs, strict=True):
            args[n] = x
        outs = leaves(c.fn(*args))
        return sum((o.real * w).sum() for o, w in zip(outs, weights, strict=True) if w is not None)

    xs = [c.args[n] for n in which]
    ts = [rng.normal(size=x.shape)[()] for x in xs]
    h = 1e-6
    up, down = (loss(*(x + s * h * t for x, t in zip(xs, ts, strict=True))) for s in (1, -1))
    slope = tj.jvp(loss, tuple(xs), tuple(ts))[1]
    np.testing.assert_allclose(slope, (up - down) / (2 * h), rtol=2e-5, atol=2e-5)
    nums = tuple(range(len(xs)))
    grads = tj.grad(loss, nums)(*xs)
    np.testing.assert_allclose(
        sum((g * t).sum() for g, t in zip(grads, ts, strict=True)), slope, rtol=1e-8, atol=1e-9
    )
    if not c.known:
        for g, w in zip(tj.jit(tj.grad(loss, nums))(*xs), grads, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-10)


DTYPES = [np.bool_, np.int8, np.uint8, np.int32, np.uint64, np.float16, np.float32, np.complex64]
#: NumPy bins complex numbers by their real parts in one step and in order of parts in the next.
NOT_COMPLEX = {"histogram"}


@pytest.mark.parametrize("name", sorted(OF_ANY_DTYPE))
@pytest.mark.sample(12)
def test_every_dtype(name: str) -> None:
    """Values, shapes and dtypes are NumPy's; what NumPy refuses is refused."""
    for dtype in DTYPES:
        of_dtype(name, dtype)


def of_dtype(name: str, dtype: Any) -> None:
    fn = OF_ANY_DTYPE[name]
    x = np.random.default_rng(0).integers(0, 9, (3, 4))
    x = (x + 1j * x[::-1]).astype(dtype) if dtype is np.complex64 else x.astype(dtype)
    if dtype is np.complex64 and name in NOT_COMPLEX:
        return
    tangent = np.ones_like(x) if dtypes.is_inexact(x.dtype) else np.zeros(x.shape, dtypes.float0)
    ways = [lambda x: tj.jvp(lambda x: leaves(fn(x)), (x,), (tangent,))[0]]
    ways += [tj.jit(fn)] if dtype in (np.uint8, np.float16) else []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            want = leaves(fn(x.copy()))
        except (TypeError, ValueError, OverflowError):
            for way in ways:
                with pytest.raises((TypeError, ValueError, OverflowError)):
                    way(x.copy())
            return
        for way in ways:
            try:
                got = way(x.copy())
            except DataDependentShapeError:
                assert way is not ways[0]
                continue
            except ArgumentTypeError as e:
                assert way is not ways[0] and "not known" in str(e)
                continue
            compare(got, want, 3e-3)
