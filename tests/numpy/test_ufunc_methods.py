"""`reduce`, `accumulate`, `reduceat`, `outer`, `at` and the options of ufuncs, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.numpy.test_ufuncs_grid import UFUNCS
from tracejit import lax
from tracejit.errors import ArgumentTypeError, OutputCastError, TracerArrayError
from tracejit.test_util import check_grads

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

RNG = np.random.default_rng(0)
FLOATS = RNG.uniform(0.2, 2.0, (3, 5)) * RNG.choice([-1.0, 1.0], (3, 5))
ARRAYS = [FLOATS, RNG.integers(1, 9, (3, 5)), FLOATS > 0]
#: NumPy 2.4's reductions of these along the last axis of float64 give other results than its own loop does.
NUMPY_IS_WRONG = {"arctan2", "power", "float_power"}
BINARY = [n for n, u in UFUNCS.items() if u.nin == 2 and u.nout == 1 and n not in NUMPY_IS_WRONG]

#: Those that are compiled too, for each of the arrays.
COMPILED = [
    {"add", "divide", "logaddexp", "fmax", "less"},
    {"gcd", "bitwise_xor"},
    {"logical_and", "multiply"},
]

#: Methods that trace a loop for most ufuncs: every array has a third of them.
LOOPS = {
    "accumulate",
    "accumulate, first axis",
    "reduceat",
    "reduce, where",
    "reduce, initial",
    "reduce, where alone",
}

METHODS: dict[str, Callable[[np.ufunc, Any], Any]] = {
    "reduce": lambda u, x: u.reduce(x),
    "reduce, last axis kept": lambda u, x: u.reduce(x, axis=-1, keepdims=True),
    "reduce, all axes": lambda u, x: u.reduce(x, axis=None),
    "reduce, two axes": lambda u, x: u.reduce(x, axis=(0, 1)),
    "reduce, initial": lambda u, x: u.reduce(x, axis=1, initial=1),
    "reduce, where": lambda u, x: u.reduce(x, axis=1, initial=1, where=x > 1),
    "reduce, where alone": lambda u, x: u.reduce(x, axis=0, where=x > 1),
    "reduce, nothing": lambda u, x: u.reduce(x[:, :0], axis=1),
    "reduce, one": lambda u, x: u.reduce(x[:1]),
    "reduce, dtype": lambda u, x: u.reduce(x, dtype=np.float32),
    "accumulate": lambda u, x: u.accumulate(x, axis=1),
    "accumulate, first axis": lambda u, x: u.accumulate(x),
    "reduceat": lambda u, x: u.reduceat(x, [0, 3, 1, 4], axis=1),
    "outer": lambda u, x: u.outer(x, x[0]),
}


def numpy_result(f: Callable[..., Any], *xs: Any) -> Any:
    """NumPy's result, or the type of its error."""
    try:
        with np.errstate(all="ignore"):
            return f(*xs)
    except (TypeError, ValueError) as e:
        return type(e)


def same(got: Any, want: Any, label: str) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape), label
    tolerance = {2: 1e-2, 4: 1e-5}.get(want.dtype.itemsize, 1e-12) if want.dtype.kind == "f" else 0
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=label)


@pytest.mark.sample(16)
@pytest.mark.parametrize("method", METHODS)
def test_methods(method: str) -> None:
    """All ufuncs eagerly, some in one compiled program."""
    run = METHODS[method]
    good, refused = [], []
    for k, name in enumerate(BINARY):
        for n, x in enumerate(ARRAYS):
            if method in LOOPS and (k + n) % 3 and name not in COMPILED[n]:
                continue
            want = numpy_result(lambda x, u=UFUNCS[name]: run(u, x), x)
            (refused if isinstance(want, type) else good).append((name, n, want))
    for name, n, want in good:
        got = tj.vmap(lambda x, u=UFUNCS[name]: run(u, x))(ARRAYS[n][None])
        same(got[0], want, f"{name} of {ARRAYS[n].dtype}")
    for name, n, error in refused:
        with pytest.raises((TypeError, ValueError)):
            tj.vmap(lambda x, u=UFUNCS[name]: run(u, x))(ARRAYS[n][None])
            raise AssertionError(f"NumPy's {name} of {ARRAYS[n].dtype} raises {error}")
    some = [(name, n, want) for name, n, want in good if name in COMPILED[n]]
    compiled = tj.jit(lambda *xs: [run(UFUNCS[name], xs[n]) for name, n, _ in some])(*ARRAYS)
    for (name, n, want), got in zip(some, compiled, strict=True):
        same(got, want, f"compiled {name} of {ARRAYS[n].dtype}")


@pytest.mark.parametrize("way", ["eager", "jit"])
def test_sequential_reductions_are_left_folds(way: str) -> None:
    x = np.abs(FLOATS)
    for u in (np.arctan2, np.power, np.subtract, np.divide):
        want = x[0]
        for row in x[1:]:
            want = u(want, row)
        f = lambda v, u=u: u.reduce(v)
        got = tj.jit(f)(x) if way == "jit" else tj.vmap(f)(x[None])[0]
        np.testing.assert_allclose(got, want, rtol=1e-14)


# ---------------------------------------------------------------- at


def _at(u: np.ufunc, x: Any, index: Any, *operand: Any) -> Any:
    y = x.copy()
    u.at(y, index, *operand)
    return y


@pytest.mark.parametrize("u", [np.add, np.subtract, np.multiply, np.divide], ids=lambda u: u.__name__)
def test_at_of_complex_numbers_and_places_that_are_computed(u: np.ufunc) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=n) + 1j * rng.normal(size=n) for n in (5, 40))
    where = rng.integers(-5, 5, 40)
    f = lambda x, i, y: _at(u, x, i, y)
    np.testing.assert_array_equal(tj.jit(f)(x, where, y), f(x, where, y))
    where[[7, 20]] = 6, 5
    with pytest.raises(IndexError, match="index 6 is out of bounds"):
        tj.jit(f)(x, where, y)


@pytest.mark.sample(2)
@pytest.mark.parametrize("way", ["eager", "jit"])
@pytest.mark.parametrize("index", [([0, 0, 1], [1, 1, 2]), (slice(None), 2), 1, ([2, 0],)])
def test_at(index: Any, way: str) -> None:
    """Repeated indices apply the ufunc again (negative.at(x, [0, 0]) changes nothing)."""
    for x in ARRAYS[:2]:
        for u in (np.negative, np.square, np.add, np.divide, np.fmax, np.logaddexp, np.subtract, np.maximum):
            operand = () if u.nin == 1 else (x.dtype.type(3),)
            f = lambda v, u=u, operand=operand: _at(u, v, index, *operand)
            got = tj.jit(f)(x) if way == "jit" else tj.vmap(f)(x[None])[0]
            same(got, f(x), f"{u.__name__}.at of {x.dtype}")


def test_at_with_traced_indices() -> None:
    i, b = np.array([0, 2, 0, 0]), np.array([2.0, 3.0, 4.0, 5.0])
    f = lambda x, i, b: _at(np.divide, x, i, b)
    x = np.array([120.0, 1.0, 6.0])
    np.testing.assert_array_equal(tj.jit(f)(x, i, b), f(x, i, b))
    np.testing.assert_array_equal(tj.vmap(f)(x[None], i[None], b[None])[0], f(x, i, b))
    check_grads(lambda x, b: f(x, i, b), (x, b), order=2)


def test_at_casts_every_step() -> None:
    f = lambda x: _at(np.add, x, [0, 0, 1], 1.5)
    np.testing.assert_array_equal(tj.jit(f)(np.arange(3)), f(np.arange(3)))


def test_at_of_a_plain_array_is_refused() -> None:
    kept = np.zeros(3)

    def f(x: Any) -> Any:
        np.add.at(kept.view(), [0], x)
        return x

    with pytest.raises((TracerArrayError, TypeError)):
        tj.make_jaxpr(f)(1.0)


def test_at_needs_one_result() -> None:
    with pytest.raises(ArgumentTypeError, match="one result"):
        tj.jit(lambda x: np.frexp.at(x, [0]))(np.ones(2))


# ---------------------------------------------------------------- derivatives, long and traced


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["logaddexp", "divide", "fmax"])
def test_derivatives(name: str) -> None:
    u, x = UFUNCS[name], np.abs(FLOATS[:2])
    check_grads(lambda v: u.reduce(v, axis=1), (x,), order=2)
    check_grads(lambda v: u.accumulate(v, axis=1), (x,), order=2)
    check_grads(lambda v: u.reduceat(v, [0, 3, 1], axis=1), (x,), order=2)
    one = tj.jit(tj.vmap(tj.grad(lambda v: u.reduce(v))))(x)
    np.testing.assert_allclose(one, [tj.grad(lambda v: u.reduce(v))(row) for row in x], rtol=1e-12)


def test_long_axes_make_short_programs() -> None:
    x = np.linspace(1.0, 1.001, 5000)
    for f in (np.divide.reduce, np.subtract.accumulate, np.logaddexp.reduce):
        assert len(tj.make_jaxpr(lambda v, f=f: f(v))(x).jaxpr.eqns) < 150
        np.testing.assert_allclose(tj.jit(lambda v, f=f: f(v))(x), f(x), rtol=1e-9)


def test_reduceat_with_traced_starts() -> None:
    f = lambda x, i: np.add.reduceat(x, i)
    x, i = np.arange(8.0), np.array([0, 5, 2, 7])
    np.testing.assert_array_equal(tj.jit(f)(x, i), f(x, i))
    with pytest.raises(IndexError):
        tj.jit(f)(x, np.array([0, 8]))
    with pytest.raises(IndexError):
        tj.jit(lambda x: np.add.reduceat(x, [0, 8]))(x)


# ---------------------------------------------------------------- options of calls


def _out(u: np.ufunc, *xs: Any, **options: Any) -> Any:
    made = u(*xs)
    outs = made if isinstance(made, tuple) else (made,)
    targets = tuple(np.ones(np.shape(o), o.dtype) for o in outs)
    u(*xs, out=targets, **options)
    return targets


@pytest.mark.sample(2)
@pytest.mark.parametrize("where", [False, True])
def test_out_and_where(where: bool) -> None:
    for name, u in UFUNCS.items():
        for x in ARRAYS:
            options = {"where": FLOATS > 0} if where else {}
            xs = [x] * u.nin
            want = numpy_result(lambda *v, u=u, o=options: _out(u, *v, **o), *xs)
            if isinstance(want, type):
                continue
            got = tj.vmap(lambda *v, u=u, o=options: _out(u, *v, **o))(*(v[None] for v in xs))
            for g, w in zip(got, want, strict=True):
                same(g[0], w, f"{name} of {x.dtype}")


@pytest.mark.sample(8)
@pytest.mark.parametrize("casting", [None, "unsafe", "no", "safe", "equiv"])
@pytest.mark.parametrize("dtype", ["f4", "D", "i4"])
def test_dtype_and_casting(dtype: str, casting: str | None) -> None:
    options: dict[str, Any] = {"dtype": dtype} | ({"casting": casting} if casting else {})
    for name, u in UFUNCS.items():
        for x in ARRAYS:
            xs = [x] * u.nin
            want = numpy_result(lambda *v, u=u: u(*v, **options), *xs)
            if isinstance(want, type):
                with pytest.raises(want):
                    tj.vmap(lambda *v, u=u: u(*v, **options))(*(v[None] for v in xs))
                continue
            got = tj.vmap(lambda *v, u=u: u(*v, **options))(*(v[None] for v in xs))
            for g, w in zip(_listed(got), _listed(want), strict=True):
                same(g[0], w, f"{name} of {x.dtype}, {options}")


def _listed(x: Any) -> list[Any]:
    return list(x) if isinstance(x, tuple) else [x]


def test_signature() -> None:
    f = lambda x: np.add(x, 1, signature="ff->f")
    assert tj.jit(f)(FLOATS.astype("f4")).dtype == np.float32
    g = lambda x: np.add(x, 1, signature=(None, None, np.float32))
    assert tj.jit(g)(FLOATS).dtype == np.float32


def test_wrong_options_are_refused() -> None:
    with pytest.raises(TypeError, match="nonsense"):
        tj.jit(lambda x: np.add(x, x, nonsense=1))(FLOATS)
    with pytest.raises(TypeError, match="operands"):
        tj.jit(lambda x: np.add(x))(FLOATS)
    with pytest.raises(OutputCastError):
        tj.jit(lambda x: np.add(x, 1.5, out=x))(np.arange(3))


def test_scan_of_a_ufunc_method() -> None:
    f = lambda x: lax.scan(lambda c, row: (c + np.logaddexp.reduce(row), c), 0.0, x)[0]
    np.testing.assert_allclose(tj.jit(f)(FLOATS), sum(np.logaddexp.reduce(r) for r in FLOATS), rtol=1e-13)
