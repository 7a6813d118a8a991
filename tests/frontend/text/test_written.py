"""Text that the standard library makes of traced values."""

from __future__ import annotations

import json
import pprint
import textwrap
from typing import Any

import numpy as np
import pytest

import tracejit as tj

X = np.array([0.5, -1.25, 3.0])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: json.dumps(
            {"x": x.tolist(), "n": len(x), "ok": bool(x[0] > 0), "s": f"{x[1]:.1f}"}, sort_keys=True
        ),
        lambda x: json.dumps([x.sum(), None, (1, "a")], indent=2),
        lambda x: pprint.pformat({"values": x, "total": [float(x.sum())] * 12}, width=30),
        lambda x: textwrap.fill(" ".join(f"w{v:.2f}" for v in x), width=12),
        lambda x: (textwrap.indent(f"{x[0]}\n{x[1]}", "> "), textwrap.shorten(f"{x[0]} and {x[1]}", 9)),
    ],
)
def test_as_python(f: Any) -> None:
    compiled = tj.jit(f, fallback=False)
    for x in (X, -X, X * np.nan):
        assert compiled(x) == f(x)
    assert compiled.trace_count == 1


def test_options_of_the_functions_own() -> None:
    def f(x: Any) -> Any:
        with np.printoptions(precision=2, sign="+"):
            inside = str(x / 3), f"{x}"
        return inside, str(x / 3)

    compiled = tj.jit(f, fallback=False)
    for x in (X, -X):
        assert compiled(x) == f(x)
    with np.printoptions(precision=1):
        assert compiled(X) == f(X)
    assert compiled.trace_count == 1


def test_settings_of_outside_are_those_of_the_call() -> None:
    f = lambda x: pprint.pformat([x / 3])
    compiled = tj.jit(f, fallback=False)
    for precision in (2, 5):
        with np.printoptions(precision=precision):
            assert compiled(X) == f(X)


def test_what_is_read_back_is_taken_for_known() -> None:
    def f(x: Any) -> Any:
        text = json.dumps({"x": x.tolist()})
        return np.asarray(json.loads(text)["x"]) * 2, textwrap.wrap(text, 10)

    compiled = tj.jit(f, fallback=True)
    for x in (X, -X, X):
        (got, lines), (want, expected) = compiled(x), f(x)
        assert np.array_equal(got, want) and lines == expected
    assert compiled.trace_count == 2


def test_what_has_no_text_raises() -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        tj.jit(lambda x: json.dumps({"x": x}), fallback=True)(X)


def test_classes_are_results() -> None:
    def f(x: Any) -> Any:
        return x.dtype, np.float32, {"kind": float}, x * 2

    dtype, cls, kinds, y = tj.jit(f, fallback=False)(X)
    assert (dtype, cls, kinds) == (np.dtype(float), np.float32, {"kind": float}) and np.array_equal(y, X * 2)
