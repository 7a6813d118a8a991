"""Structured arrays while something is traced: derivatives, loops, layouts, and what they do not do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.api.fallback import Python
from tracejit.numpy.boxes.memory import layout_of_field
from tracejit.numpy.structured.array import Structured, of_array

PARTICLE = np.dtype([("x", "f8"), ("v", "f8"), ("id", "i4")])


def particles(n: int = 5) -> Any:
    a = np.zeros(n, PARTICLE)
    a["x"], a["v"], a["id"] = np.arange(n) * 0.5, 1.0, np.arange(n)[::-1]
    return a


def energy(a: Any, k: Any) -> Any:
    """Of a copy of the particles after a few steps, with the spring constant `k`."""
    b = a.copy()
    for _ in range(4):
        b["v"] -= 0.1 * k * b["x"]
        b["x"] += 0.1 * b["v"]
    fast = b[b["v"] > 0.5]
    return (b["x"] ** 2).sum() + np.sort(b, order="v")["v"][0] + fast["v"].sum()


def test_derivatives_go_through_fields() -> None:
    a = particles()
    slope = (energy(a, 0.7 + 1e-6) - energy(a, 0.7 - 1e-6)) / 2e-6
    assert tj.jit(tj.grad(energy, argnums=1))(a, 0.7) == pytest.approx(slope, rel=1e-7)
    assert tj.jit(lambda k: tj.grad(lambda s: energy(a, s))(k))(0.7) == pytest.approx(slope, rel=1e-7)
    assert np.array_equal(a, particles())


def test_derivatives_of_what_a_traced_function_makes() -> None:
    def f(x: Any) -> Any:
        p = np.zeros(3, [("a", "f8"), ("b", "f4"), ("n", "i4")])
        p["a"] = x * np.arange(3)
        p["b"][1] = x
        p[2] = x**2, x, 4
        return (p["a"] * p["n"]).sum() + p["b"].sum()

    slope = (f(0.5 + 1e-4) - f(0.5 - 1e-4)) / 2e-4
    for g in (tj.grad(f), tj.jit(tj.grad(f)), tj.jacfwd(f)):
        assert g(0.5) == pytest.approx(slope, rel=1e-3)


def test_what_derivatives_hand_out_shares_memory_as_in_python() -> None:
    kept = []

    def made(y: Any) -> Any:
        p = np.zeros(3, PARTICLE)
        p["x"] = y * np.arange(3)
        kept.append(p)
        return (p["x"] * p["x"]).sum(), (p, p["x"], p)

    (_, (p, x, again)), slope = tj.value_and_grad(made, has_aux=True)(2.0)
    assert slope == 20.0 and p.dtype == PARTICLE and p is again and kept[-1] is p
    assert x.strides == p["x"].strides and np.shares_memory(x, p)
    with pytest.raises(tj.errors.UnfollowedError, match="made anew"):
        tj.value_and_grad(lambda y: (y, made(y)[1][0][1:]), has_aux=True)(2.0)


def test_which_of_several_a_condition_chooses_is_not_guessed() -> None:
    first, second = particles(), particles()

    def chosen(x: Any) -> Any:
        t = first if x > 0 else second
        t["x"] += x
        return t

    with pytest.raises(tj.errors.UnfollowedError, match="a condition decides"):
        tj.jit(chosen, fallback=False)(1.0)
    with pytest.raises(tj.errors.UnfollowedError, match="a branch or loop decides"):
        tj.jit(lambda x: chosen(x) is first, fallback=False)(1.0)
    assert tj.jit(lambda x: chosen(x)["id"].sum(), fallback=False)(1.0) == 10
    assert first["x"][0] == 1.0 and second["x"][0] == 0.0


def test_lanes_have_columns_of_their_own() -> None:
    table = particles()
    f = tj.jit(lambda ks: tj.vmap(lambda k: energy(table, k))(ks))
    ks = np.array([0.1, 0.5, 0.9])
    assert np.allclose(f(ks), [energy(table, k) for k in ks], rtol=1e-12)


def test_a_loop_over_records_is_a_native_one() -> None:
    def f(a: Any) -> Any:
        total = 0.0
        for n, r in enumerate(a):
            r["x"] += n * r["v"]
            total += r["x"] * r["id"]
        return total

    a, b = particles(3000), particles(3000)
    g = tj.jit(f, fallback=False)
    assert g(a) == pytest.approx(f(b), rel=1e-12)
    assert np.array_equal(a, b)
    assert len(g.lower(a).jaxpr.eqns) < 50


def test_writes_into_fields_are_made_by_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though fields lie in turns, none shares memory with another: Python need not run the call."""

    def f(a: Any) -> Any:
        a["x"] += a["v"]
        a["v"] *= 2
        return a["id"].sum()

    def plain(*_: Any) -> Any:
        raise AssertionError("Python runs the call")

    monkeypatch.setattr(Python, "plain", plain)
    for dtype, skips in ((PARTICLE, False), (np.dtype([("x", "f8"), ("v", "f8"), ("id", "i8")]), True)):
        g, a = tj.jit(f, fallback=False), particles().astype(dtype)
        for _ in range(3):
            g(a)
        assert a["x"].tolist() == [7.0, 7.5, 8.0, 8.5, 9.0]
        # Calls of fields that are aligned skip the general way.
        assert g.trace_count == 1 and (len(g._fast) > 0 or not skips)


@pytest.mark.parametrize("dtype", [PARTICLE, [("a", "i1"), ("b", "f8", (2, 3))], [("only", "f8")]])
@pytest.mark.parametrize("shape", [(4,), (2, 3), ()])
def test_columns_have_the_strides_of_numpys(dtype: Any, shape: Any) -> None:
    dtype = np.dtype(dtype)
    plain = np.zeros(shape, dtype)
    for name in dtype.names or ():
        column, itemsize = plain[name], dtype[name].base.itemsize
        layout = layout_of_field(dtype, name, column.shape)
        if layout is None:
            assert column.flags.c_contiguous
        else:
            scale = {s / (itemsize * e) for s, e in zip(column.strides, layout, strict=True)}
            assert len(scale) == 1
            assert (scale.pop() == 1) == all(s % itemsize == 0 for s in column.strides)


def test_an_array_of_numpys_is_copied() -> None:
    a = particles()
    made = of_array(a)
    assert type(made) is Structured and made.dtype == PARTICLE and made.shape == (5,)
    a["x"] = 9
    assert made["x"].read().tolist() == [0, 0.5, 1, 1.5, 2]


def test_what_is_not_there_is_said() -> None:
    def f(a: Any) -> Any:
        return a.tobytes()

    with pytest.raises(tj.errors.UnsupportedFunctionError, match=r"ndarray\.tobytes of a structured array"):
        tj.jit(f, fallback=False)(particles())
    with pytest.raises(tj.errors.UnsupportedFunctionError, match=r"numpy\.unique of a structured array"):
        tj.jit(lambda a: np.unique(a), fallback=False)(particles())
    with pytest.raises(ValueError, match="no field of name"):
        tj.jit(lambda a: a["y"], fallback=False)(particles())
    with pytest.raises(AttributeError, match="has no attribute"):
        tj.jit(lambda a: a.x, fallback=False)(particles())
