"""Declarations of C: what is read, what parameters mean, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracejit.errors import CDeclarationError
from tracejit.lowering.foreign.declarations import Place, meaning, parse

F8, F4, I8 = np.dtype("f8"), np.dtype("f4"), np.dtype("i8")


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("double f(double)", "double (double)"),
        ("double f(int n, const double *x);", "double (int, double *)"),
        ("double(int n,double*x,void*data)", "double (int, double *, void *)"),
        ("int g(double *b, npy_intp size, double *r, void *u)", "int (double *, npy_intp, double *, void *)"),
        ("void f(double *x, unsigned int k)", "void (double *, unsigned int)"),
        ("float (void)", "float ()"),
    ],
)
def test_what_is_read(text: str, type: str) -> None:
    assert str(parse(text)) == type


@pytest.mark.parametrize("text", ["", "double", "double f(double", "complex f(double)", "double f(void)(x)",
                                  "double *f(double)", "double f(double **x)", "double f(void x)", "f(x)"])  # fmt: skip
def test_what_is_not(text: str) -> None:
    with pytest.raises(CDeclarationError, match="TJ231"):
        parse(text)


def test_a_pointer_to_several_numbers() -> None:
    means = meaning(parse("double f(int n, double *x)"), [(F8, ())] * 3, [(F8, ())])
    assert means.inputs == [Place(1, True, 0), Place(1, True, 8), Place(1, True, 16)]
    assert means.results == [Place(-1)] and means.lengths == [(0, 3)] and means.reports == "number"


def test_the_lengths_belong_to_the_pointers_in_order() -> None:
    text = "int f(intptr_t *out, double *in, int out_rank, int in_rank, void *data)"
    means = meaning(parse(text), [(I8, (2,))], [(F8, (3,))])
    assert means.inputs == [Place(0, True)] and means.results == [Place(1, True)]
    assert means.lengths == [(2, 2), (3, 3)] and means.reports == "status"


@pytest.mark.parametrize(
    ("text", "inputs", "results", "why"),
    [
        ("double f(float x)", [], [(F8, ())], "no input for it"),
        ("double f(double x)", [(F4, ())], [(F8, ())], "next input is a float32 number"),
        ("double f(double *x)", [(F4, (2,))], [(F8, ())], "float32 array of shape"),
        ("double f(double x)", [(F8, ())] * 2, [(F8, ())], "no parameter is the program's input"),
        ("float f(double x)", [(F8, ())], [(F8, ())], "has no place"),
        ("int f(double x)", [(F8, ())], [(F8, ())], "has no place"),
        ("double f(double *x)", [], [(F8, ())], "no result that it could return"),
        ("int f(int n, int size, double *x)", [], [(F8, ())], "more lengths than pointers"),
        ("void f(double *x, double *y)", [(F8, (2,))], [], "no argument or result"),
    ],
)
def test_what_does_not_fit(text: str, inputs: Any, results: Any, why: str) -> None:
    with pytest.raises(CDeclarationError, match=why):
        meaning(parse(text), inputs, results)


def test_smaller_numbers_are_widened() -> None:
    assert meaning(parse("double f(float x, int k)"), [(F8, ()), (I8, ())], [(F4, ())]).reports == "number"
