"""vmap: axes as trees, sizes, names, and errors that name the arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.errors import VmapAxisError, VmapNothingMappedError, VmapOutputError, VmapSizeError

A = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
@pytest.mark.parametrize("out", [0, 1, -1])
def test_axes(axis: int, out: int) -> None:
    got = tj.vmap(lambda x: x * 2, in_axes=axis, out_axes=out)(A)
    np.testing.assert_array_equal(got, np.moveaxis(A * 2, axis, out))


def test_axes_of_trees() -> None:
    f = tj.vmap(lambda p, s: p["w"] @ p["x"] * s, in_axes=({"w": None, "x": 1}, None))
    np.testing.assert_allclose(f({"w": np.ones(2), "x": A}, 2.0), 2 * A.sum(0))
    outs = tj.vmap(lambda x: (x, {"s": x.sum()}), out_axes=(1, 0))(A)
    np.testing.assert_array_equal(outs[0], A.T)
    np.testing.assert_array_equal(outs[1]["s"], A.sum(1))


def test_a_prefix_covers_a_tree() -> None:
    f = tj.vmap(lambda t: t[0] + t[1], in_axes=((0, 0),))
    np.testing.assert_array_equal(f((A, A)), 2 * A)
    np.testing.assert_array_equal(tj.vmap(lambda t: t[0] + t[1], in_axes=[0])((A, A)), 2 * A)


def test_keywords_are_mapped_over_axis_0() -> None:
    np.testing.assert_array_equal(tj.vmap(lambda x, y: x + y)(A, y=A), 2 * A)


def test_size_without_mapped_arguments() -> None:
    got = tj.vmap(lambda x: x, in_axes=None, axis_size=3)(1.0)
    np.testing.assert_array_equal(got, np.ones(3))
    got = tj.vmap(lambda: lax.axis_index("i"), axis_name="i", axis_size=3)()
    np.testing.assert_array_equal(got, [0, 1, 2])


def test_unmapped_results() -> None:
    s, y = tj.vmap(lambda x: (lax.psum(x, "i"), x), out_axes=(None, 0), axis_name="i")(A)
    np.testing.assert_array_equal(s, A.sum(0))
    np.testing.assert_array_equal(y, A)


WRONG: list[tuple[type[Exception], str, Callable[[], Any]]] = [
    (VmapSizeError, "`x` has 2.*`y` has 3", lambda: tj.vmap(lambda x, y: x)(A, A.T)),
    (VmapSizeError, "axis_size is 5", lambda: tj.vmap(lambda x: x, axis_size=5)(A)),
    (VmapAxisError, "2 dimensions", lambda: tj.vmap(lambda x: x, in_axes=2)(A)),
    (VmapAxisError, "2 entries for 1", lambda: tj.vmap(lambda x: x, in_axes=(0, 0))(A)),
    (VmapAxisError, "integers or None", lambda: tj.vmap(lambda x: x, in_axes=1.5)(A)),
    (VmapAxisError, "out_axes", lambda: tj.vmap(lambda x: x.sum(), out_axes=1)(A)),
    (VmapNothingMappedError, "lambda", lambda: tj.vmap(lambda x: x, in_axes=None)(A)),
    (VmapOutputError, "lambda", lambda: tj.vmap(lambda x: x, out_axes=None)(A)),
    (VmapSizeError, "`kw`|`y`", lambda: tj.vmap(lambda x, y: x)(A, y=A.T)),
]


@pytest.mark.parametrize(("error", "match", "call"), WRONG)
def test_wrong_calls(error: type[Exception], match: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error, match=match):
        call()


def test_results_that_do_not_depend_on_the_batch_are_repeated() -> None:
    np.testing.assert_array_equal(tj.vmap(lambda x: np.ones(2))(A), np.ones((2, 2)))


def test_an_empty_batch() -> None:
    assert tj.vmap(np.sin)(np.zeros((0, 3))).shape == (0, 3)
    assert tj.jit(tj.vmap(lambda x: x.sum()))(np.zeros((0, 3))).shape == (0,)
