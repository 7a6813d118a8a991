"""Arrays seen as a subclass: NumPy computes as with the arrays themselves."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.seen import SeenArray

A = np.arange(12.0).reshape(3, 4)


class Other:
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return "other"


def test_the_array_itself_is_behind_it() -> None:
    seen = SeenArray.of(A)
    assert seen.plain is A and seen.T.plain is not A and np.shares_memory(seen.T.plain, A)
    assert type(pickle.loads(pickle.dumps(seen))) is np.ndarray


@pytest.mark.parametrize(
    "f",
    [
        np.median,
        lambda a: np.sort(a, axis=0),
        lambda a: np.concatenate([a, a]),
        lambda a: np.einsum(a, [0, 1], [0]),
        lambda a: np.add(a, 1),
        lambda a: a @ a.T,
        lambda a: np.linalg.norm(a, axis=1),
        lambda a: np.where(a > 3, a, 0),
    ],
)
def test_what_is_new_is_plain(f: Any) -> None:
    out = f(SeenArray.of(A))
    assert type(out) is type(f(A))
    np.testing.assert_array_equal(out, f(A))


@pytest.mark.parametrize(
    "f", [np.transpose, lambda a: np.split(a, 3)[1], lambda a: np.broadcast_arrays(a, A)[0], np.diagonal]
)
def test_views_are_seen_as_it_is(f: Any) -> None:
    out = f(SeenArray.of(A))
    assert type(out) is SeenArray and np.shares_memory(out, A)
    np.testing.assert_array_equal(out.plain, f(A))


def test_numpys_code_sees_plain_arrays_and_writes_into_them() -> None:
    kinds: list[type] = []
    np.apply_along_axis(lambda row: kinds.append(type(row)) or 0.0, 0, SeenArray.of(A))
    assert set(kinds) == {np.ndarray}
    target = np.zeros((3, 4))
    np.copyto(SeenArray.of(target), A)
    np.testing.assert_array_equal(target, A)


def test_arrays_of_others_decide_for_themselves() -> None:
    assert np.concatenate([SeenArray.of(A), Other()]) == "other"  # type: ignore[list-item]


def test_arrays_of_outside_are_asked_where_they_lie() -> None:
    """In eager derivatives: whose memory it is, in which order, and which object."""
    v = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    w, names = v[1:], {id(v): "v"}

    def f(t: Any) -> Any:
        orders = v.copy(), v.copy("F"), v.copy("C"), np.zeros_like(v), np.copy(v), v.astype(int), np.array(v)
        lie = v.flags.owndata, v.base is None, w.base is v, v[1:].base is v, v.T.base is v, w.T.base is v
        same = v.view(np.ndarray).base is v, np.asarray(v) is v, np.array(v, copy=None) is v, names.get(id(v))
        seen.append((lie, same, [x.flags.c_contiguous for x in orders], np.broadcast_arrays(v, v)[1] is v))
        return t, orders

    seen: list[Any] = []
    _, plain = f(1.0)
    _, given = tj.value_and_grad(f, has_aux=True)(1.0)[0]
    assert seen[0] == seen[1]
    assert [x.strides for x in plain] == [x.strides for x in given]


def test_what_an_exception_holds_is_the_users() -> None:
    class Wrong(Exception):
        def __init__(self, data: Any) -> None:
            super().__init__("wrong")
            self.data = data

    v = np.ones(2)

    def f(t: Any) -> Any:
        raise Wrong(v)

    try:
        tj.grad(f)(1.0)
    except Wrong as e:
        assert e.data is v and type(e.data) is np.ndarray
    else:
        raise AssertionError
