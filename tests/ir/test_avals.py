"""Types of values: equality, tangents, and what is read off arrays and Python scalars."""

from __future__ import annotations

import numpy as np
import pytest

from tracejit import dtypes
from tracejit.errors import UnknownDtypeError
from tracejit.ir.avals import Aval, Dim, aval_of, capacity
from tracejit.ir.jaxpr import Var

F64 = np.dtype(np.float64)


def test_equality_is_type_equality() -> None:
    a, b = Aval((2, 3), F64), Aval((2, 3), F64)
    assert a == b and hash(a) == hash(b)
    assert a != Aval((3, 2), F64) and a != Aval((2, 3), np.dtype(np.float32)) and a != "f64[2,3]"


def test_repr_is_what_programs_print() -> None:
    assert repr(Aval((2, 3), F64)) == "f64[2,3]"
    assert repr(Aval((), np.dtype(bool))) == "bool[]"
    assert repr(Aval((1,), dtypes.bfloat16)) == "bf16[1]"


def test_extents_are_equal_when_they_are_the_same_integer() -> None:
    n, m = Var(None, Aval((), dtypes.int64)), Var(None, Aval((), dtypes.int64))
    assert Dim(n, 5) == Dim(n, 5) and Dim(n, 5) != Dim(m, 5) and Dim(n, 5) != 5
    dynamic = Aval((Dim(n, 5), 2), F64)
    assert not dynamic.is_static and dynamic.size == 10 and capacity(dynamic.shape) == (5, 2)
    assert capacity((Dim(n, None), 4)) == (1, 4)  # unbounded


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (np.zeros((2, 0), np.int8), "i8[2,0]"),
        (np.float32(1), "f32[]"),
        (True, "bool[]"),
        (1, "i64[]"),
        (1.5, "f64[]"),
        (1j, "c128[]"),
        (np.zeros(3, ">f8"), "f64[3]"),  # the byte order is a matter of memory, not of type
    ],
)
def test_of_values(x: object, text: str) -> None:
    assert repr(aval_of(x)) == text


def test_tangents_of_integers_are_float0() -> None:
    assert aval_of(np.zeros(3)).tangent() == aval_of(np.zeros(3))
    assert aval_of(np.zeros(3, int)).tangent().dtype == dtypes.float0


def test_objects_are_refused() -> None:
    with pytest.raises(UnknownDtypeError):
        aval_of(np.array([object()]))
