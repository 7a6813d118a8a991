"""Programs that keep, or hand out, parts of arrays which they did not make themselves: a library's, the caller's, and what
a checkpointed function computes."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

import tracejit as tj
from tests.programs.observe import program

_ARRAYS: list[Any] = [(np.arange(3.0),), (np.arange(3.0) + 1,), (-np.arange(3.0),)]


@program
def parts_of_what_a_library_made() -> Any:
    def f(x):
        nodes, weights = np.polynomial.legendre.leggauss(5)
        square = np.polynomial.legendre.leggauss(4)[0].reshape(2, 2).T
        return nodes, nodes[1:3], [nodes], weights[::2], np.broadcast_to(weights, (2, 5)), square, x * 2

    return f, _ARRAYS, None


@program
def an_object_keeps_parts_of_what_a_library_made() -> Any:
    held = types.SimpleNamespace()

    def f(x):
        nodes, _ = np.polynomial.legendre.leggauss(4)
        held.nodes, held.last, held.reversed = nodes, nodes[2:], nodes[::-1]
        return x + held.last.sum()

    return f, _ARRAYS, lambda: held


@program
def a_derivative_keeps_its_argument() -> Any:
    """The array, and parts of it, are the caller's wherever the differentiated function has kept them."""
    held = types.SimpleNamespace(all=[])

    def loss(w):
        held.w, held.part = w, w[1:]
        held.all.append(w)
        return (w**2).sum()

    def f(w):
        slope = tj.grad(loss)(w)
        (value, (again, part)), other = tj.value_and_grad(lambda v: (loss(v), (v, v[:2])), has_aux=True)(w)
        w[0] += 1.0
        held.w += 0.5
        return slope, value, other, again, part, held.w is w, held.part.sum(), held.all[0] is held.all[1]

    return f, [(np.arange(3.0) + n,) for n in range(3)], lambda: held


@program
def a_checkpointed_function_keeps_what_it_computes() -> Any:
    held = types.SimpleNamespace(losses=[], hidden=None)

    def layer(x, k):
        @tj.checkpoint
        def inner(x):
            h = np.tanh(x * k)
            held.hidden = h
            held.first = h[:1]
            held.losses.append(h.sum())
            if k > 2:
                raise ValueError("too far")
            return h * 2

        return inner(x)

    def f(x):
        slope = tj.grad(lambda v: layer(layer(v, 1), 2).sum() + held.losses[-1] * 3 + held.hidden.max())(x)
        try:
            tj.grad(lambda v: layer(v, 3).sum())(x)
        except ValueError as e:
            return slope, str(e)
        return slope

    return f, _ARRAYS, lambda: held
