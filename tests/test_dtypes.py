"""Dtypes: what is accepted, tangents, and names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracejit import dtypes
from tracejit.errors import UnknownDtypeError


@pytest.mark.parametrize(
    ("given", "want"),
    [
        (float, "float64"),
        (int, "int64"),
        (bool, "bool"),
        (complex, "complex128"),
        ("f4", "float32"),
        (np.int8, "int8"),
        (np.dtype(">i4"), "int32"),
        (dtypes.bfloat16, "bfloat16"),
        (np.float16, "float16"),
    ],
)
def test_canonical(given: Any, want: str) -> None:
    d = dtypes.canonical(given)
    assert d.name == want and d.isnative


@pytest.mark.parametrize("bad", ["no such", object, str, np.dtype("M8"), np.dtype("V3"), list])
def test_refused(bad: Any) -> None:
    with pytest.raises(UnknownDtypeError):
        dtypes.canonical(bad)


def test_kinds() -> None:
    f, i, c, b = (np.dtype(t) for t in (float, int, complex, bool))
    assert dtypes.is_float(f) and dtypes.is_float(dtypes.bfloat16) and not dtypes.is_float(c)
    assert dtypes.is_complex(c) and dtypes.is_inexact(c) and not dtypes.is_inexact(i)
    assert dtypes.is_integer(i) and dtypes.is_integer(np.dtype(np.uint8)) and not dtypes.is_integer(b)


def test_tangents() -> None:
    for t in (np.float16, np.float32, np.complex64):
        assert dtypes.tangent_dtype(np.dtype(t)) == t
    assert dtypes.tangent_dtype(dtypes.bfloat16) == dtypes.bfloat16
    assert dtypes.tangent_dtype(np.dtype(int)) == dtypes.tangent_dtype(np.dtype(bool)) == dtypes.float0
    assert np.zeros(5, dtypes.float0).nbytes == 0


def test_real_parts() -> None:
    assert dtypes.real_part_dtype(np.dtype(np.complex64)) == np.float32
    assert dtypes.real_part_dtype(np.dtype(np.float16)) == np.float16


def test_short_names() -> None:
    names = {
        t: dtypes.short_name(np.dtype(t))
        for t in (bool, "u1", "i8", "f2", "c8", dtypes.bfloat16, dtypes.float0)
    }
    assert list(names.values()) == ["bool", "u8", "i64", "f16", "c64", "bf16", "float0"]


def test_python_scalars() -> None:
    assert dtypes.of_python_scalar(True) is dtypes.bool_ and dtypes.of_python_scalar(1) == np.int64
    assert dtypes.of_python_scalar("s") is None and dtypes.of_python_scalar(np.float64(1)) is None


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="longdouble is a double here")
@pytest.mark.parametrize("given", [np.longdouble, np.dtype(np.clongdouble)])
def test_long_doubles_are_refused(given: Any) -> None:
    with pytest.raises(UnknownDtypeError):
        dtypes.canonical(given)
