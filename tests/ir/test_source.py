"""Every equation knows the user's line: traced, differentiated, batched and replayed ones."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

import tracejit as tj
from tracejit import lax
from tracejit.ir.jaxpr import Jaxpr, sub_jaxprs
from tracejit.ir.source import user_source

X = np.array([0.1, 0.2])


def model(x: Any) -> Any:
    y = np.sin(x)
    return (y * y).sum()


START = inspect.getsourcelines(model)[1]


def lines(jaxpr: Jaxpr) -> Iterator[tuple[str, str | None, int]]:
    for e in jaxpr.eqns:
        yield (e.op.name, e.source and e.source.filename, e.source.line - START if e.source else -1)
        for sub in sub_jaxprs(e.params):
            yield from lines(sub)


def test_the_line_of_each_operation() -> None:
    found = {op: line for op, _, line in lines(tj.make_jaxpr(model)(X).jaxpr)}
    assert found["sin"] == 1 and found["mul"] == 2 and found["reduce_sum"] == 2


def test_helpers_have_their_own_lines() -> None:
    found = {op: line for op, _, line in lines(tj.make_jaxpr(lambda x: model(x) + 1)(X).jaxpr)}
    assert found["sin"] == 1


def test_gradients_point_to_the_users_lines() -> None:
    push = lambda x: tj.jvp(model, (x,), (x,))[1]
    for f in (tj.grad(model), tj.grad(tj.jit(model)), push):
        found = list(lines(tj.make_jaxpr(f)(X).jaxpr))
        assert all(name == __file__ for _, name, _ in found), found
        cosines = [line for op, _, line in found if op == "cos"]
        assert cosines and set(cosines) == {1}


def test_batched_and_looped_programs_too() -> None:
    xs = np.stack([X, X])
    found = list(lines(tj.make_jaxpr(tj.vmap(model))(xs).jaxpr))
    assert {line for op, _, line in found if op == "sin"} == {1}
    loop = lambda x: lax.fori_loop(0, 3, lambda i, c: c + model(x), 0.0)
    found = list(lines(tj.make_jaxpr(tj.grad(loop))(X).jaxpr))
    assert {line for op, _, line in found if op == "cos"} == {1}


def test_printing_a_place() -> None:
    source = user_source()
    assert source is not None
    assert str(source).startswith("test_source.py:") and source.full().startswith(__file__)
