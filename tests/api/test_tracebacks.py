"""Tracebacks show the user's frames."""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.config import config
from tracejit.errors import FunctionNeededError, NonScalarOutputError, is_internal

X = np.ones(3)


def inner(x):
    return x[7] + 1


def fails(x):
    return inner(x).sum()


def unpacks(x):
    a, _b = x.shape
    return a


def frames(f: Any, *args: Any) -> list[tuple[str, bool]]:
    """(function, whether it is tracejit's) of all frames of what `f` raises, in `inner` and around it."""
    try:
        f(*args)
    except Exception as e:
        found: list[Any] = [e]
        while found[-1].__cause__ or found[-1].__context__:
            found.append(found[-1].__cause__ or found[-1].__context__)
        places = [p for x in found for p in traceback.extract_tb(x.__traceback__)]
        return [(p.name, is_internal(p.filename)) for p in places]
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    "f",
    [
        tj.jit(fails),
        tj.jit(fails, fallback=True),
        tj.grad(fails),
        tj.value_and_grad(fails),
        tj.vmap(fails),
        tj.jacfwd(fails),
        tj.make_jaxpr(fails),
        lambda x: tj.jvp(fails, (x,), (x,)),
        lambda x: tj.vjp(fails, x),
        tj.jit(tj.vmap(tj.grad(fails))),
    ],
)
def test_the_users_frames_are_together(f):
    x = np.ones((3, 3))
    found = frames(f, x)
    assert [name for name, ours in found if not ours][-2:] == ["fails", "inner"]
    assert sum(ours for _, ours in found) <= 3
    assert [ours for _, ours in found][-2:] == [False, False]
    with config.override(full_tracebacks=True):
        assert sum(ours for _, ours in frames(f, x)) >= sum(ours for _, ours in found)


def test_full_tracebacks_have_all_frames():
    with config.override(full_tracebacks=True):
        assert sum(ours for _, ours in frames(tj.grad(fails), X)) > 5


def test_pythons_exceptions_too():
    assert [name for name, ours in frames(tj.grad(unpacks), X) if not ours][-1] == "unpacks"


def test_mistakes_that_have_no_frame_of_the_users():
    assert sum(ours for _, ours in frames(tj.grad(lambda x: x), X)) <= 2
    with pytest.raises(NonScalarOutputError):
        tj.grad(lambda x: x)(X)


def test_what_fails_inside_of_tracejit_is_shown(monkeypatch):
    monkeypatch.setattr("tracejit.api.autodiff.derivatives.aval_of", None)
    found = frames(tj.grad(lambda x: x.sum()), X)
    assert sum(ours for _, ours in found) > 2 and found[-1][1]


CALLED = {"jvp": 2, "hvp": 2, "vjp": 1, "linearize": 1, "linear_transpose": 1, "eval_shape": 1}
WRAP = [
    "jit", "grad", "value_and_grad", "vmap", "jacfwd", "jacrev", "jacobian", "hessian", "make_jaxpr", "checkpoint",
    "custom_jvp", "custom_vjp", "explain",
]  # fmt: skip


@pytest.mark.parametrize("name", [*CALLED, *WRAP])
def test_only_functions_are_transformed(name):
    with pytest.raises(FunctionNeededError, match=r"takes a function, not ndarray"):
        getattr(tj, name)(X, *[(X,)] * CALLED.get(name, 0))
