"""Exported programs as libraries of C: called by ctypes, and by programs that the system's compiler makes."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import LibraryBuildError
from tracejit.interpreters.jit_stored import compiler

W, X = np.linspace(-1, 1, 3), np.random.default_rng(0).normal(size=(20, 3))
needs_compiler = pytest.mark.skipif(not compiler(), reason="there is no C compiler")


def loss(w: Any, x: Any, power: Any) -> Any:
    h = np.tanh(x * w)
    return np.sum(h**power), h[0]


def pointer(a: np.ndarray) -> Any:
    return a.ctypes.data_as(ctypes.c_void_p)


def library(path: Path, e: Any, **options: Any) -> Any:
    e.write_library(path, **options)
    return ctypes.CDLL(str(path))


@needs_compiler
def test_functions_and_gradients(tmp_path: Path) -> None:
    """The same bits as in Python."""
    e = tj.export(loss, vjp=True)(W, X, 3)
    square = tj.export(lambda x: x @ x)(np.array([1, 2], np.float32))
    found = library(tmp_path / "loss.so", e, header=tmp_path / "loss.h", more={"square": square})
    value, first = np.zeros(1), np.zeros(3)
    assert found.loss(pointer(W), pointer(X), ctypes.c_int64(3), pointer(value), pointer(first)) == 1
    wanted = e(W, X, 3)
    assert value[0] == wanted[0] and first.tolist() == wanted[1].tolist()
    dw, dx = np.zeros(3), np.zeros((20, 3))
    one, nothing = ctypes.c_double(1.0), np.zeros(3)
    given = (pointer(W), pointer(X), ctypes.c_int64(3), one, pointer(nothing))
    assert found.loss_vjp(*given, pointer(dw), pointer(dx)) == 1
    back = e.vjp()(W, X, 3, (np.float64(1.0), nothing))
    assert dw.tolist() == back[0].tolist() and dx.tolist() == back[1].tolist()
    out = np.zeros(1, np.float32)
    assert found.square(pointer(np.array([3, 4], np.float32)), pointer(out)) == 1 and out[0] == 25
    header = (tmp_path / "loss.h").read_text()
    assert (
        "int loss(const double *w, const double *x, int64_t power, double *result0, double *result1);"
        in header
    )
    assert "int square(const float *x, float *result);" in header and "int loss_vjp(" in header


MAIN = """
#include <stdio.h>
#include "model.h"

int main(void) {
    double x[4] = {1, 2, 3, 4}, table[5], total;
    if (!running(x, 2.0, &total, table))
        return 1;
    printf("%g %g %g\\n", x[3], total, table[4]);
    int worked = running(x, -1.0, &total, table);
    printf("%d %d\\n", worked, (int) running_status[0]);
    return 0;
}
"""


def running(x: Any, scale: Any) -> Any:
    """It writes its argument, has a loop, memory of its own, an array in it, and a check."""
    if scale < 0:
        raise ValueError("negative")
    x *= scale
    total, i = 0.0, 0
    while total < 5:
        total += x[i]
        i += 1
    return total, np.concatenate([np.cumsum(x)[:2], TABLE])


TABLE = np.array([7.0, 8.0, 9.0])


@needs_compiler
@pytest.mark.parametrize("suffix", [".o", ".a", ".so"])
def test_a_program_of_c(suffix: str, tmp_path: Path) -> None:
    made = tmp_path / f"model{suffix}"
    tj.export(running)(np.ones(4), 1.0).write_library(made, header=tmp_path / "model.h")
    (tmp_path / "main.c").write_text(MAIN)
    command = [*compiler(), "-o", "main", "main.c", str(made), "-lm", f"-Wl,-rpath,{tmp_path}"]
    subprocess.run(command, cwd=tmp_path, check=True)
    out = subprocess.run(["./main"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert out.split() == ["8", "6", "9", "0", "1"]
    assert "status 1: ValueError at test_libraries.py:" in (tmp_path / "model.h").read_text()


BLAS = """
void dgemm_(char *ta, char *tb, int *m, int *n, int *k, double *alpha, double *a, int *lda, double *b, int *ldb,
            double *beta, double *c, int *ldc) {
    for (int i = 0; i < *m; i++)
        for (int j = 0; j < *n; j++) {
            double sum = 0;
            for (int l = 0; l < *k; l++)
                sum += (*ta == 'N' ? a[i + l * *lda] : a[l + i * *lda])
                     * (*tb == 'N' ? b[l + j * *ldb] : b[j + l * *ldb]);
            c[i + j * *ldc] = *alpha * sum + (*beta ? *beta * c[i + j * *ldc] : 0);
        }
}
"""


@needs_compiler
def test_blas_is_the_callers(tmp_path: Path) -> None:
    a = np.random.default_rng(1).normal(size=(40, 40))
    e = tj.export(lambda a: np.tanh(a @ a))(a)
    (tmp_path / "blas.c").write_text(BLAS)
    blas = str(tmp_path / "libmine.so")
    subprocess.run([*compiler(), "-shared", "-fPIC", "-o", blas, "blas.c"], cwd=tmp_path, check=True)
    options = {"name": "product", "header": tmp_path / "product.h", "libraries": [blas]}
    found = library(tmp_path / "product.so", e, **options)
    assert "BLAS and LAPACK: dgemm_." in (tmp_path / "product.h").read_text()
    out = np.zeros_like(a)
    assert found.product(pointer(a), pointer(out)) == 1
    np.testing.assert_allclose(out, np.tanh(a @ a), rtol=1e-10)


@needs_compiler
def test_memory_that_grows_and_threads(tmp_path: Path) -> None:
    """A tape on the heap, and a loop that threads share in Python: one thread gives the same bits."""

    def f(x: Any) -> Any:
        while np.sum(x) < 100:
            x = x * 1.5 + np.sin(x) ** 2
        return np.sum(x)

    x = np.linspace(0.1, 1, 5)
    e = tj.export(tj.grad(f))(x)
    found, out = library(tmp_path / "f.so", e, name="slope"), np.zeros(5)
    assert found.slope(pointer(x), pointer(out)) == 1 and out.tolist() == e(x).tolist()
    big = np.linspace(0, 1, 300_000)
    e = tj.export(lambda x: np.exp(np.sin(x)) * x)(big)
    found, out = library(tmp_path / "g.so", e, name="g"), np.zeros_like(big)
    assert found.g(pointer(big), pointer(out)) == 1 and (out == e(big)).all()


def test_what_c_can_not_have(tmp_path: Path) -> None:
    x = np.ones(100)
    for f, args, why in [
        (np.sort, (x,), "a\\.o can.t be made: .* of NumPy"),
        (lambda x: np.abs(np.fft.fft(x)), (x,), "for fft"),
        (lambda x: x[x > 0], (x,), "is computed"),
        (lambda x: x[::2], (x,), "is a view"),
        (lambda x: x * 1j, (x,), "complex128"),
        (lambda x: (x + 1, "text"), (x,), "no array and no number"),
    ]:
        with pytest.raises(LibraryBuildError, match=why):
            tj.export(f)(*args).write_library(tmp_path / "a.o", name="a")
    e = tj.export(np.sin)(1.0)
    for name, why in [("a.txt", "does not end with"), ("a.o", "no name in C")]:
        with pytest.raises(LibraryBuildError, match=why):
            e.write_library(tmp_path / name, name="f" if name == "a.txt" else "int")


def test_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    e = tj.export(np.sin)(1.0)
    e.write_library(tmp_path / "sin.o")
    if not compiler():
        with pytest.raises(LibraryBuildError, match="no C compiler"):
            e.write_library(tmp_path / "sin.so")


@needs_compiler
def test_the_compiler_complains(tmp_path: Path) -> None:
    with pytest.raises(LibraryBuildError, match="says"):
        tj.export(np.sin)(1.0).write_library(tmp_path / "sin.so", libraries=["there_is_no_such_library"])
