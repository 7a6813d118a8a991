"""Leak checks: what outlives its trace is found, with its line and its holder; nothing else is."""

from __future__ import annotations

import types
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.config import config
from tracejit.errors import LeakedTracerError, TracerLeakError
from tracejit.interpreters.leaks import _reachable

X = np.ones((2, 2))


class Model:
    """Holds something."""


kept: list[Any] = []
model = Model()


@pytest.fixture(autouse=True)
def _on() -> Iterator[None]:
    with tj.checking_leaks():
        yield


@pytest.fixture
def world() -> Any:
    """The functions below over globals that are made now: the search passes over what there was before the tests
    began, which conftest.py freezes."""
    names = {**globals(), "kept": [], "model": Model()}
    for f in (into_a_global, into_an_attribute):
        names[f.__name__] = types.FunctionType(f.__code__, names)
    return types.SimpleNamespace(**names)


def into_a_global(x: Any) -> Any:
    y = np.sin(x)
    kept.append(y)
    return np.sum(x)


def into_an_attribute(x: Any) -> Any:
    y = np.sin(x)
    model.value = {"deep": [y]}  # type: ignore[attr-defined]
    return np.sum(x)


WAYS = {
    "vmap": tj.vmap,
    "vmap of grad": lambda f: tj.vmap(tj.grad(f)),
    "make_jaxpr": tj.make_jaxpr,
    "checkpoint": lambda f: tj.grad(tj.checkpoint(f)),
    "scan": lambda f: lambda x: lax.scan(lambda c, y: (c, f(y)), 0.0, x),
    "cond": lambda f: tj.vmap(lambda x: lax.cond(x[0] > 0, f, lambda y: y[0], x)),
}


@pytest.mark.parametrize("way", list(WAYS))
def test_the_holder_is_named(way: str, world: Any) -> None:
    with pytest.raises(TracerLeakError, match=r"held by a list in global `kept`") as caught:
        WAYS[way](world.into_a_global)(X)
    assert "traced values: a f64[" in str(caught.value)
    world.kept.clear()
    with pytest.raises(TracerLeakError, match=r"attribute `value` of a Model"):
        WAYS[way](world.into_an_attribute)(X)


def test_the_line_is_named(world: Any) -> None:
    line = world.into_a_global.__code__.co_firstlineno + 1
    for way in ("make_jaxpr", "checkpoint", "scan"):
        with pytest.raises(TracerLeakError, match=rf"made at .*test_leaks.py:{line}\)"):
            WAYS[way](world.into_a_global)(X)
        world.kept.clear()


def test_closure_variables_and_locals_of_jit() -> None:
    def f(x: Any) -> Any:
        inside: list[Any] = []
        return lax.fori_loop(0, 2, lambda i, c: (inside.append(c), c)[1], x)

    for way in (f, tj.jit(f), tj.grad(lambda x: np.sum(f(x)))):
        with pytest.raises(TracerLeakError, match=r"closure variable `inside` of .*f"):
            way(X)


def clean_custom(x: Any) -> Any:
    @tj.custom_jvp
    def f(y: Any) -> Any:
        return np.sin(y)

    f.defjvp(lambda p, t: (f(p[0]), t[0] * np.cos(p[0])))
    return np.sum(f(x))


def clean_loops(x: Any) -> Any:
    y = lax.fori_loop(0, 2, lambda i, c: c + np.sin(x) * i, x)
    z, ys = lax.scan(lambda c, r: (c + np.sum(r), c), 0.0, y)
    return lax.cond(z > 0, lambda: z, lambda: -z) + np.sum(ys)


def clean_calls(x: Any) -> Any:
    inner = tj.jit(lambda y: np.sum(y * x))
    tj.debug.callback(lambda v: None, x)
    return inner(x) + tj.checkpoint(lambda y: np.sum(np.tanh(y)))(x)


def clean_writes(x: Any) -> Any:
    out = np.zeros_like(x)
    out[0] = x[1] * W[0]
    out[1:] += 2
    return np.sum(out)


W = np.arange(4.0).reshape(2, 2)


@pytest.mark.sample(4)
@pytest.mark.parametrize("f", [clean_custom, clean_loops, clean_calls, clean_writes])
def test_nothing_is_found_where_nothing_leaks(f: Any) -> None:
    for way in (tj.jit(f), tj.grad(f), tj.jit(tj.grad(f)), tj.grad(tj.jit(f)), tj.make_jaxpr(f)):
        way(X)
    tj.vmap(f)(X[None])
    tj.hessian(lambda x: f(x * W))(X)


def test_auxiliary_results_and_pullbacks_are_no_leaks() -> None:
    f = lambda x: (np.sum(np.sin(x)), {"aux": x * 2})
    assert tj.grad(f, has_aux=True)(X)[1]["aux"][0, 0] == 2
    _, pull, _ = tj.vjp(f, X, has_aux=True)
    pull(1.0)
    tj.linearize(f, X, has_aux=True)
    tj.jvp(f, (X,), (X,), has_aux=True)
    tj.jit(tj.value_and_grad(f, has_aux=True))(X)


def test_an_outer_trace_may_hold_its_own() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        held = [y]
        return tj.grad(lambda z: np.sum(z * held[0]))(x)

    tj.jit(f)(X)
    tj.vmap(f)(X)


def test_off_means_off(world: Any) -> None:
    with config.override(check_tracer_leaks=False):
        tj.grad(world.into_a_global)(X)
    tj.grad(lambda x: np.sum(x))(X)  # an old leak is not this one's


def test_using_a_leaked_value_names_its_line(world: Any) -> None:
    line = world.into_a_global.__code__.co_firstlineno + 1
    with config.override(check_tracer_leaks=False):
        for way in ("scan", "make_jaxpr"):
            WAYS[way](world.into_a_global)(X)
            for use in (lambda: world.kept[0] + 1, lambda: tj.jit(lambda: np.sin(world.kept[0]))()):
                with pytest.raises(LeakedTracerError, match=rf"made at .*test_leaks.py:{line}\) was used"):
                    use()
            world.kept.clear()


def test_a_proxy_of_what_is_gone_is_passed_by() -> None:
    gone = weakref.proxy(Model())
    assert id(gone) in _reachable([[gone]])
