"""`csv` and texts of arrays in traced code."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest

import tracejit as tj

X = np.array([[0.5, -1.25], [1e10, np.nan]])


def _same(f: Any, *given: Any, traces: int = 1) -> None:
    jitted = tj.jit(f, fallback=False)
    assert [jitted(*g) for g in given] == [f(*g) for g in given] and jitted.trace_count == traces


@pytest.mark.parametrize(
    "options", [{}, {"delimiter": ";"}, {"quoting": csv.QUOTE_ALL, "lineterminator": "\n"}], ids=str
)
def test_rows_are_written(options: dict[str, Any]) -> None:
    def f(x):
        out = io.StringIO()
        w = csv.writer(out, **options)
        count = w.writerow(["a", 'with "quotes"', None, 1])
        w.writerows([n, v[0], float(v[1]), f"{v[0]:.1f}"] for n, v in enumerate(x))
        return out.getvalue(), count

    _same(f, (X,), (X + 1,))


def test_rows_of_a_stream_of_outside() -> None:
    out, plain = io.StringIO(), io.StringIO()

    def made(stream):
        def f(x):
            csv.writer(stream).writerow(x.tolist())
            return x.sum()

        return f

    jitted = tj.jit(made(out), fallback=False)
    for k in range(3):
        jitted(X[0] + k)
        made(plain)(X[0] + k)
    assert out.getvalue() == plain.getvalue() and jitted.trace_count == 1


def test_what_is_read_is_known() -> None:
    def f(x, text):
        rows = list(csv.reader(io.StringIO(text)))
        return x * float(rows[1][0]), len(rows)

    _same(f, (1.0, "a,b\n2,3\n"), (2.0, "a,b\n2,3\n"), (2.0, "a,b\n5,3\n"), traces=2)


def test_a_buffer_that_begins_with_text_is_only_read() -> None:
    def f(x):
        out = io.StringIO("begun")
        for v in x:
            if v > 0:
                out.write("more")
        return out.getvalue()

    with pytest.warns(tj.errors.FallbackWarning):
        assert tj.jit(f, fallback=True)(X[0]) == f(X[0])


def test_print_options_of_a_block() -> None:
    def f(x):
        with np.printoptions(precision=2, sign="+") as options:
            inside = str(x), f"{x}", np.array_repr(x), options["precision"]
        return inside, str(x), np.array2string(x, separator=";")

    jitted = tj.jit(f, fallback=False)
    assert jitted(X[0]) == f(X[0])
    with np.printoptions(threshold=1, edgeitems=1, linewidth=40):
        assert jitted(X[0]) == f(X[0])
    assert jitted(X[1]) == f(X[1])


def test_slices_of_text_are_text() -> None:
    def f(x):
        t = f"{x:.6f}"
        return t[:3], t[::-1], t[-2:], t[1:5:2]

    _same(f, (1.25,), (-3.5,))


def test_text_of_records_and_masks() -> None:
    def f(a, x):
        a["x"] += x
        m = np.ma.array(a["x"], mask=a["x"] > 2)
        return str(a), repr(a[0]), f"{a[1]}", str(m), repr(m + 1)

    def made():
        a = np.zeros(3, [("x", "f8"), ("n", "i4")])
        a["x"] = [0, 1, 2]
        return a

    jitted = tj.jit(f, fallback=False)
    assert [jitted(made(), x) for x in (0.5, 1.5)] == [f(made(), x) for x in (0.5, 1.5)]
