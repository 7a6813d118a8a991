"""Compiled programs as functions of C: called by ctypes, by SciPy's C code and by C that the system compiles."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import integrate, ndimage

import tracejit as tj
from tracejit.errors import CDeclarationError, ForeignArgumentError, ForeignFunctionError

DOUBLES = ctypes.POINTER(ctypes.c_double)
A = np.random.default_rng(0).normal(size=(12, 13))


def made(f: Any, declaration: str, *args: Any) -> Any:
    return tj.jit(f).lower(*args).compile().cfunc(declaration)


def pointer(a: np.ndarray) -> Any:
    return a.ctypes.data_as(DOUBLES)


def bell(x: Any) -> Any:
    return np.exp(-(x**2))


def test_quad() -> None:
    f = made(bell, "double f(double x)", 0.0)
    assert integrate.quad(f.low_level_callable(), 0, 2)[0] == pytest.approx(integrate.quad(bell, 0, 2)[0])
    g = made(tj.grad(bell), "double f(double x, void *user_data)", 0.0).low_level_callable()
    assert integrate.quad(g, 0, 2)[0] == pytest.approx(bell(2.0) - 1)


def test_nquad() -> None:
    f = lambda x, y, z: x * y + np.sin(z)
    g = made(f, "double f(int n, double *x)", 0.0, 0.0, 0.0).low_level_callable()
    ranges = [[0, 1], [0, 2], [0, 1]]
    assert integrate.nquad(g, ranges)[0] == pytest.approx(integrate.nquad(f, ranges)[0])


def norm(b: Any) -> Any:
    return np.sqrt((b**2).sum())


def test_generic_filter() -> None:
    f = made(norm, "int f(double *buffer, npy_intp size, double *result, void *data)", np.zeros(9))
    np.testing.assert_allclose(
        ndimage.generic_filter(A, f.low_level_callable(), size=3), ndimage.generic_filter(A, norm, size=3)
    )
    with pytest.raises(RuntimeError):  # SciPy's
        ndimage.generic_filter(A, f.low_level_callable(), size=5)
    with pytest.raises(ForeignArgumentError, match="a length is 25, where it was compiled for 9"):
        f.check()
    assert f.check() is None


def test_generic_filter_of_lines() -> None:
    """By the declaration that SciPy's documentation has."""
    text = """int function(double *input_line, npy_intp input_length,
                           double *output_line, npy_intp output_length, void *user_data)"""
    f = lambda line: (line[2:] - line[:-2]) / 2
    g = made(f, text, np.zeros(A.shape[1] + 2)).low_level_callable()
    want = np.gradient(A, axis=1)
    np.testing.assert_allclose(ndimage.generic_filter1d(A, g, 3)[:, 1:-1], want[:, 1:-1])


def test_geometric_transform() -> None:
    f = lambda out: np.array([out[0] + 0.5, out[1] * 0.9])
    text = "int f(npy_intp *out, double *in, int out_rank, int in_rank, void *data)"
    g = made(f, text, np.zeros(2, np.int64)).low_level_callable()
    want = ndimage.geometric_transform(A, lambda out: tuple(f(out)))
    np.testing.assert_allclose(ndimage.geometric_transform(A, g), want)


def test_failures() -> None:
    x = np.arange(3.0)
    f = made(lambda x, i: x[i], "double f(double *x, int64_t i)", x, 0)
    assert f(pointer(x), 2) == 2 and f(pointer(x), -3) == 0
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        f(pointer(x), 5)
    assert np.isnan(f.ctypes(pointer(x), 5))
    with pytest.raises(CDeclarationError, match="no way to tell"):
        made(lambda x, i: x[i], "void f(double *x, int64_t i, double *y)", x, 0)
    with pytest.raises(CDeclarationError, match="its lengths are checked"):
        made(bell, "void f(double *x, int n, double *y)", x)


def test_numbers_of_all_kinds() -> None:
    assert made(lambda x: x > 1, "bool f(double x)", 0.0)(2.0) is True
    assert made(lambda b, x: x if b else -x, "double f(bool b, double x)", True, 0.0)(False, 2.0) == -2
    assert made(lambda k: k * 3, "int64_t f(int8_t k)", np.int64(0))(-4) == -12
    assert made(lambda k: k // 2, "uint16_t f(uint8_t k)", np.uint16(0))(255) == 127
    assert made(lambda x: x * 2, "double f(float x)", np.float32(0))(1.5) == 3
    assert made(lambda x: 2.5, "double f(double x)", 0.0)(1.0) == 2.5
    assert made(lambda x, y: y, "double f(double x, double y)", 0.0, 0.0)(1.0, 7.0) == 7


def test_lengths_that_have_no_sign() -> None:
    x = np.arange(3.0)
    f = made(lambda x: x.sum(), "double f(size_t n, const double *x)", x)
    assert f(3, pointer(x)) == 3
    with pytest.raises(ForeignArgumentError, match="a length is 4, where it was compiled for 3"):
        f(4, pointer(x))


def test_results_behind_pointers_and_writes() -> None:
    x, y, z = np.arange(4.0), np.empty(4), np.empty(2)
    made(lambda x: (x * 2, x.sum(), x.max()), "void f(double *x, double *y, double *z)", x)(
        *map(pointer, (x, y, z))
    )
    assert y.tolist() == [0, 2, 4, 6] and z.tolist() == [6, 3]

    def scaled(x: Any, s: Any) -> None:
        x *= s

    made(scaled, "void f(double *x, double s)", x, 1.0)(pointer(x), 3.0)
    assert x.tolist() == [0, 3, 6, 9]


def test_memory_that_is_written_belongs_to_one_argument() -> None:
    def add(x: Any, y: Any) -> None:
        x[1:] += y[:-1]

    x = np.arange(4.0)
    f = made(add, "int f(double *x, double *y)", x, x.copy())
    assert f(pointer(x), pointer(np.ones(4))) == 1 and x.tolist() == [0, 2, 3, 4]
    with pytest.raises(ForeignArgumentError, match="also that of another argument"):
        f(pointer(x), pointer(x))
    g = made(np.cumsum, "int f(double *x, double *y)", np.ones(4))
    with pytest.raises(ForeignArgumentError):
        g(pointer(x), pointer(x))


def test_captured_arrays_are_read_at_every_call() -> None:
    w = np.ones(3)
    f = made(lambda x: (w * x).sum(), "double f(double x)", 0.0)
    assert f(2.0) == 6
    w[0] = 10
    assert f(2.0) == 24


def test_scratch_memory_beyond_the_stack() -> None:
    a = np.random.default_rng(0).normal(size=(120, 120))
    f = made(lambda a: (a @ a @ a).sum(), "double f(double *a)", a)
    assert f(pointer(a)) == pytest.approx((a @ a @ a).sum())


def test_the_address() -> None:
    x, s, out = np.arange(3.0), np.array(2.0), np.empty(3)
    compiled = tj.jit(lambda x, s: np.exp(x) * s).lower(x, 1.0).compile()
    rows = (ctypes.c_void_p * 3)(x.ctypes.data, s.ctypes.data, out.ctypes.data)
    assert compiled.ctypes(rows) == 0
    np.testing.assert_allclose(out, np.exp(x) * 2)
    out[:] = 0
    assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(compiled.address)(rows) == 0 and out[0] == 2


def test_many_threads() -> None:
    f = made(lambda x: (np.arange(50.0) * x).sum(), "double f(double x)", 0.0)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda n=n: found.append((n, f(float(n))))) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(found) == [(n, 1225.0 * n) for n in range(8)]


STATE: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("f", "why"),
    [
        (lambda x: f"{x}", "which Python makes"),
        (lambda x: STATE.update(x=x), "keeps state"),
        (lambda x: print(x), "calls Python"),
        (lambda x: np.random.normal() + x, "random numbers"),
        (lambda x: [x, "text"], "no array or number"),
    ],
)
def test_what_needs_python_is_refused(f: Any, why: str) -> None:
    with pytest.raises(ForeignFunctionError, match=why):
        tj.jit(f).lower(1.0).compile().address


EXAMPLE = r"""
#include <stdint.h>

/* Newton's method for a root of f, given f and its derivative. */
double root(double (*f)(double), double (*slope)(double), double x) {
    for (int step = 0; step < 30; ++step)
        x -= f(x) / slope(x);
    return x;
}

/* Rows: the argument (3 numbers), then the result. */
int32_t twice(int32_t (*f)(void **), double *x, double *y) {
    void *rows[] = {x, y};
    int32_t code = f(rows);
    if (code)
        return code;
    rows[0] = y;
    rows[1] = x;
    return f(rows);
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler (cc)")
def test_a_program_in_c(tmp_path: Path) -> None:
    (tmp_path / "example.c").write_text(EXAMPLE)
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", "-o", "example.so", "example.c"], cwd=tmp_path, check=True
    )
    library = ctypes.CDLL(str(tmp_path / "example.so"))
    f = lambda x: x**3 - 2
    parts = [made(g, "double f(double x)", 0.0) for g in (f, tj.grad(f))]
    library.root.restype = ctypes.c_double
    addresses = [ctypes.c_void_p(p.address) for p in parts]
    assert library.root(*addresses, ctypes.c_double(1.0)) == pytest.approx(2 ** (1 / 3))
    x, y = np.array([0.0, 1, 2]), np.empty(3)
    compiled = tj.jit(lambda x: x * 3 + 1).lower(x).compile()
    assert library.twice(ctypes.c_void_p(compiled.address), pointer(x), pointer(y)) == 0
    assert y.tolist() == [1, 4, 7] and x.tolist() == [4, 13, 22]
