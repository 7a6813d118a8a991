"""What has no Python function is called by its address, and gives what Python's call of it gives."""

from __future__ import annotations

import ctypes
import ctypes.util
import gc
import pickle
import subprocess
import sys
from typing import Any

import cloudpickle
import numba
import numpy as np
import pytest
from numba.extending import intrinsic

import tracejit as tj
from tracejit.errors import (
    CapturedWriteError,
    ExportRefusedError,
    FallbackWarning,
    LibraryResultError,
    NotDifferentiableError,
    NotPrintableError,
    UnfollowedError,
)
from tracejit.ir import natives

libm = ctypes.CDLL(ctypes.util.find_library("m"))
cbrt = libm.cbrt
cbrt.argtypes, cbrt.restype = [ctypes.c_double], ctypes.c_double
absolute = ctypes.CDLL(None).labs
absolute.argtypes, absolute.restype = [ctypes.c_long], ctypes.c_long
X = np.arange(5.0)


def _twice(context: Any, x: Any) -> Any:
    return x(x), lambda context, builder, signature, args: builder.fadd(args[0], args[0])


twice: Any = intrinsic(_twice)


@numba.njit
def root(x):
    return cbrt(x) + 1


@numba.njit
def doubled(x, by=3.0):
    return twice(x) * by


@numba.njit
def several(x, k):
    return x * cbrt(k), x[0], len(x), k > 1, None


@numba.njit
def roots(x):
    total = 0.0
    for v in x:
        total += root(v)
    return total


def summed(x):
    total = 0.0
    for v in x:
        total += root(v)
    return total


def made(text: str, **names: Any) -> Any:
    """A function of `exec`, which has no source."""
    scope = {"numba": numba, "np": np, "cbrt": cbrt, **names}
    exec(f"@numba.njit\n{text}", scope)
    return scope["f"]


FUNCTIONS = {
    "a function of C": lambda x: cbrt(x[3]) + cbrt(len(x)),
    "in njit": lambda x: root(x[3]) * 2,
    "intrinsic": lambda x: doubled(x[3]) + doubled(x[2], by=2.0),
    "in njit's njit": lambda x: roots(x),
    "in a loop": summed,
    "several results": lambda x: several(x, 8.0),
    "batched": lambda x: tj.vmap(root)(x),
    "batched twice": lambda x: tj.vmap(tj.vmap(lambda a, b: root(a * b), (0, None)), (None, 0))(x, x[:2]),
}


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name: str) -> None:
    f = FUNCTIONS[name]
    got, want = tj.jit(f, fallback=False)(X), f(X)
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (got, want)), strict=True):
        assert type(a) is type(b) and np.array_equal(a, b)


def test_batched_values() -> None:
    np.testing.assert_array_equal(tj.jit(tj.vmap(root), fallback=False)(X), np.cbrt(X) + 1)


def test_without_source() -> None:
    """Loops and branches are Numba's; a derivative is taken of what Python's bytecode says."""
    f = made(
        "def f(x):\n    y = np.empty_like(x)\n    for i in range(len(x)):\n"
        "        y[i] = 2 * x[i] if x[i] > 1 else -x[i]\n    return y\n"
    )
    jitted = tj.jit(lambda x: f(x) + 1, fallback=False)
    assert np.array_equal(jitted(X), f(X) + 1)
    long = made("def f(x):\n    s = 0.0\n    for v in x:\n        s += v * v\n    return s\n")
    of_many = tj.jit(lambda x: long(x), fallback=False)
    assert of_many(np.ones(30_000)) == 30_000
    np.testing.assert_array_equal(tj.jit(tj.grad(long))(X), 2 * X)


def test_derivatives_are_refused() -> None:
    for f in (cbrt, root, doubled):
        with pytest.raises(NotDifferentiableError, match="custom_jvp or custom_vjp"):
            tj.jit(tj.grad(lambda x, f=f: f(x)))(2.0)
        with pytest.raises(NotDifferentiableError, match="foreign compiled code"):
            tj.grad(tj.jit(lambda x, f=f: f(x)))(2.0)

    @tj.custom_jvp
    def smooth(x):
        return cbrt(x)

    smooth.defjvp(lambda primals, tangents: (smooth(*primals), tangents[0] / (3 * smooth(*primals) ** 2)))
    assert tj.jit(tj.grad(smooth))(8.0) == pytest.approx(1 / 12)


def test_writes_exceptions_and_arguments_given_back_are_pythons() -> None:
    @numba.njit
    def f(x, k):
        if k < 0:
            raise ValueError("negative")
        if k > 2:
            x[0] = cbrt(k)
        return x if k > 1 else 2 * x

    jitted = tj.jit(lambda x, k: f(x, k), fallback=True)
    for k in (1.0, 1.5, 8.0, 0.5):
        x, y = X.copy(), X.copy()
        got, want = jitted(x, k), f(y, k)
        assert np.array_equal(got, want) and np.array_equal(x, y)
        assert np.shares_memory(got, x) == np.shares_memory(want, y)
    with pytest.raises(ValueError, match="negative"):
        jitted(X, -1.0)
    strict = tj.jit(lambda x, k: f(x, k), fallback=False)
    strict(X.copy(), 1.0)
    for k, problem in ((-1.0, "raised"), (8.0, "wrote into"), (1.5, "gave an argument")):
        with pytest.raises(LibraryResultError, match=problem):
            strict(X.copy(), k)


def test_other_shapes_are_pythons() -> None:
    @numba.njit
    def f(x, n):
        return np.full(n, cbrt(x[0]))

    jitted = tj.jit(lambda x: f(x, int(x[0])), fallback=True)
    for n in (2.0, 3.0, 2.0):
        assert np.array_equal(jitted(np.array([n])), f(np.array([n]), int(n)))


def test_what_may_do_more_than_compute_is_left_to_python() -> None:
    calls = []
    back = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: calls.append(x) or x)

    @numba.njit
    def prints(x):
        print(twice(x))
        return x

    @numba.njit
    def calls_back(x):
        return back(x)

    @numba.njit(parallel=True)
    def shares(x):
        for i in numba.prange(len(x)):
            x[i] = cbrt(x[i])
        return x.sum()

    @numba.njit
    def gives_an_array(x):
        return x * back(x[0])

    for f, x in (
        (gives_an_array, X),
        (prints, 1.0),
        (calls_back, 1.0),
        (shares, X),
        (lambda x: absolute(int(x)), -1.0),
        (back, 1.0),
    ):
        with pytest.raises(UnfollowedError):
            tj.jit(lambda x, f=f: f(x), fallback=False)(x)
    with pytest.warns(FallbackWarning, match="may do more than compute"):
        assert tj.jit(lambda x: calls_back(x), fallback=True)(2.0) == 2.0
    assert calls == [2.0]


def test_arguments_that_are_others_are_left_to_python() -> None:
    @numba.njit
    def f(x):
        return cbrt(x[0, 0])

    jitted = tj.jit(lambda x: f(x), fallback=True)
    with pytest.warns(FallbackWarning, match="no array in C order"):
        assert jitted(np.ones((2, 2), order="F")) == 1
    with pytest.raises(UnfollowedError, match="no c_double"):
        tj.jit(lambda x: cbrt(x[0]), fallback=False)(np.ones(1, np.float32))


def test_types_of_functions_of_c_are_not_set_while_tracing() -> None:
    magnitude = ctypes.CDLL(ctypes.util.find_library("m")).fabs
    magnitude.argtypes, magnitude.restype = [ctypes.c_double], ctypes.c_double

    def sets(x):
        magnitude.restype = None
        return magnitude(x)

    with pytest.raises(CapturedWriteError, match="`restype` of `fabs`"):
        tj.jit(sets, fallback=False)(-8.0)
    with pytest.warns(FallbackWarning, match="restype"):
        assert tj.jit(sets, fallback=True)(-8.0) is None
    assert magnitude.restype is None


def test_other_compilers_and_files() -> None:
    f = tj.jit(lambda x: root(x) * 2, fallback=False)
    compiled = f.lower(8.0).compile()
    assert compiled.cfunc("double f(double x)")(8.0) == 6.0

    @numba.njit
    def caller(x):
        return f(x) + 1

    assert caller(8.0) == 7.0
    with pytest.raises(ExportRefusedError, match="foreign compiled code"):
        tj.export(f)(8.0)
    with pytest.raises(NotPrintableError, match="foreign compiled code"):
        compiled.as_text("numba")
    assert "foreign compiled code (`root`) is called by address" in str(tj.explain(f)(8.0))
    assert "native:" not in compiled.as_text("llvm"), (
        "texts, by which machine code is found, have no addresses"
    )


def test_functions_of_a_library_of_c_by_their_names() -> None:
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    library.cbrt.argtypes, library.cbrt.restype = [ctypes.c_double], ctypes.c_double

    def total(xs):
        s = 0.0
        for x in xs:
            s += library.cbrt(x)
        return s

    xs = np.arange(10.0)
    jitted = tj.jit(total, fallback=False)
    np.testing.assert_allclose(jitted(xs), total(xs), rtol=1e-15)
    library.cbrt.restype = None
    with pytest.raises(UnfollowedError):
        jitted(xs[:1])
    library.cbrt.restype = ctypes.c_double
    np.testing.assert_allclose(jitted(xs), total(xs), rtol=1e-15)
    assert jitted.trace_count == 1
    for other in (lambda x: library.rand() + x, lambda x: library["cbrt"](x), lambda x: len(str(library))):
        with pytest.raises(UnfollowedError, match="more than compute"):
            tj.jit(other, fallback=False)(8.0)
    with pytest.warns(FallbackWarning), pytest.raises(AttributeError, match="nosuch"):
        tj.jit(lambda x: library.nosuch(x), fallback=True)(8.0)


def test_programs_that_call_by_address_are_not_pickled() -> None:
    jaxpr = tj.make_jaxpr(lambda x: cbrt(x))(8.0)
    for dumps in (pickle.dumps, cloudpickle.dumps):
        with pytest.raises(ExportRefusedError, match=r"`cbrt`.* by address"):
            dumps(jaxpr)


def test_functions_live_as_long_as_programs() -> None:
    def run() -> Any:
        f = made("def f(x):\n    return cbrt(x) * 3\n")
        jitted = tj.jit(lambda x: f(x) + 1, fallback=False)
        jitted(8.0)
        return jitted.lower(8.0).compile()

    gc.collect()
    before = len(natives._known)
    compiled = run()
    gc.collect()
    assert compiled(8.0) == 7.0 and len(natives._known) == before + 1
    del compiled
    gc.collect()
    assert len(natives._known) == before


SCRIPT = """
import ctypes, ctypes.util, sys
import numba, tracejit as tj
libm = ctypes.CDLL(ctypes.util.find_library("m"))
first, second = getattr(libm, sys.argv[1]), getattr(libm, sys.argv[2])
for f in (first, second):
    f.argtypes, f.restype = [ctypes.c_double], ctypes.c_double
print(tj.jit(lambda x: first(x) + 2 * second(x), fallback=False)(8.0))
"""


@pytest.mark.exhaustive
def test_the_disk_cache_has_no_addresses(tmp_path: Any) -> None:
    """Programs of one text call different functions in different processes."""
    path = ":".join(filter(None, sys.path))
    for names, want in ((("cbrt", "fabs"), 18.0), (("fabs", "cbrt"), 12.0)):
        got = subprocess.run(
            [sys.executable, "-c", SCRIPT, *names], capture_output=True, text=True, check=True,
            env={"TRACEJIT_CACHE": str(tmp_path), "PYTHONPATH": path, "HOME": str(tmp_path)},
        )  # fmt: skip
        assert float(got.stdout) == want
