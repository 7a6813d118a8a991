"""Functions with rules, and checkpointed ones, update copies of their own in place, compiled or not."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj


def f(x):
    x *= 2.0
    return (x * x).sum()


def _jvp():
    g = tj.custom_jvp(f)
    g.defjvp(lambda p, t: (4 * (p[0] * p[0]).sum(), 8 * (p[0] * t[0]).sum()))
    return g


def _vjp():
    g = tj.custom_vjp(f)
    g.defvjp(lambda x: (4 * (x * x).sum(), x), lambda x, ct: (8 * x * ct,))
    return g


def _vmap():
    g = tj.custom_batching.custom_vmap(f)
    g.def_vmap(lambda size, batched, x: (4 * (x * x).sum(-1), True))
    return g


TWICE = {
    "eager": lambda g: g,
    "jit": tj.jit,
    "grad": tj.grad,
    "grad of jit": lambda g: tj.grad(tj.jit(g)),
    "jit of grad": lambda g: tj.jit(tj.grad(g)),
    "vmap": tj.vmap,
    "jit of vmap": lambda g: tj.jit(tj.vmap(g)),
}


@pytest.mark.parametrize("how", TWICE)
@pytest.mark.parametrize("make", [lambda: tj.checkpoint(f), _jvp, _vjp, _vmap])
def test_the_callers_array_stays(make, how) -> None:
    if make is _vmap and "grad" in how:
        return  # its rule is for vmap
    x = np.arange(3.0)
    given = x[None].copy() if "vmap" in how else x.copy()
    out = TWICE[how](make())(given)
    assert np.array_equal(given.reshape(3), x)
    assert np.allclose(out, 8 * x if "grad" in how else 20.0)


def test_arguments_that_are_not_traced_are_given_as_they_are() -> None:
    seen = []

    def g(log, x):
        log[0] += 1
        seen.append(log)
        x += 1
        return x

    log, x = np.zeros(1), {"a": np.ones(2)}
    h = tj.custom_jvp(lambda log, x: g(log, x["a"]), nondiff_argnums=(0,))
    h.defjvp(lambda log, p, t: (p[0]["a"], t[0]["a"]))
    assert np.array_equal(h(log, x), [2, 2])
    assert seen[0] is log and log[0] == 1 and np.array_equal(x["a"], [1, 1])
