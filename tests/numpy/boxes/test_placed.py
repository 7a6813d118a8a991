"""Which results are views: a write through them reaches the array where it does in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

A = np.arange(9.0).reshape(3, 3) + 1

#: Groups of expressions of a 3 x 3 array.
GROUPS = {
    "einsum": "np.einsum('ii->i', a)|np.einsum('ij->ji', a)|np.einsum('ij', a)|np.einsum('ji', a)|"
    "np.einsum('...->...', a)|np.einsum(a, [0, 0], [0])|np.einsum('ij->i', a)|np.einsum('ij->ij', a * 1)|"
    "np.einsum('...ii->...i', a[None])|np.einsum('iji->ij', a[:, None])",
    "diagonals": "np.diagonal(a)|a.diagonal()|np.diag(a)|np.linalg.diagonal(a)|np.broadcast_to(a, (2, 3, 3))|"
    "np.lib.stride_tricks.sliding_window_view(a, (2, 2))|np.imag(a)|a.imag|np.diagflat(a[0])",
    "shapes": "np.ravel(a)|a.ravel('F')|a.T.ravel()|np.ravel(a, 'K')|a.reshape(-1)|np.reshape(a, 9, copy=True)|"
    "a.reshape(9, copy=False)|a.flatten()|np.squeeze(a[:1])|np.atleast_1d(a)|np.atleast_2d(a[0])|np.atleast_3d(a)|"
    "np.expand_dims(a, 0)|a.reshape(9, order='F')|a.T.reshape(9)|np.reshape(a, 9, order='A')",
    "axes": "np.swapaxes(a, 0, 1)|np.moveaxis(a, 0, 1)|np.rollaxis(a, 1)|np.transpose(a)|a.T|a.mT|np.permute_dims(a)|"
    "np.flip(a)|np.flipud(a)|np.fliplr(a)|np.rot90(a)|np.rot90(a, 2)|np.linalg.matrix_transpose(a)",
    "parts": "np.split(a, 3)[1]|np.array_split(a, 2)[0]|np.hsplit(a, 3)[0]|np.dsplit(a[:, :, None], 1)[0]|"
    "np.unstack(a)[1]|a[1:, ::2]|a[[0, 1]]|a[a > 2]|a[0, ...]|np.take(a, [0], 0)|a.flat[:]|"
    "np.broadcast_arrays(a, a)[0]",
    "copies": "np.asarray(a)|np.asarray(a, copy=True)|np.asarray(a, copy=False)|np.array(a)|np.array(a, copy=None)|"
    "np.array(a, copy=False)|np.array(a, ndmin=3, copy=False)|np.asfortranarray(a)|np.asfortranarray(a.T)|"
    "np.ascontiguousarray(a.T)|np.copy(a)|a.astype(float, copy=False)|np.astype(a, float)|np.require(a)|"
    "np.require(a, requirements='W')|np.require(a.T, requirements=['C'])|np.array(a.T, order='C', copy=None)",
    "others": "a.view()|a.view(np.int64)|np.real(a)|a.real|np.nan_to_num(a, copy=False)|np.nan_to_num(a)|a.conj()|"
    "np.conj(a)|np.positive(a)|np.tile(a, 1)|np.repeat(a, 1)|np.block(a)|np.block([a])|np.where(True, a, a)|"
    "np.meshgrid(a[0], a[1])[0]|np.meshgrid(a[0], copy=False, sparse=True)[0]|np.apply_over_axes(np.sum, a, [])",
    "complex": "(a + 1j).view(float)|(a + 1j).real|np.imag(a + 1j)[1:]",
}


def set_all(view: Any) -> None:
    view[...] = 7


def add(view: Any) -> None:
    view += 1


def set_first(view: Any) -> None:
    view[0] = 9


def program(view: Callable[[Any], Any], write: Callable[[Any], None]) -> Callable[[Any], Any]:
    def run(a: Any) -> Any:
        b = a * 1
        v = view(b)
        try:
            write(v)
        except ValueError:
            return b, v * 1, True
        return b, v * 1, False

    return run


@pytest.mark.sample(4)
@pytest.mark.parametrize("write", [set_all, add, set_first])
@pytest.mark.parametrize("group", GROUPS)
def test_writes_reach_the_array(group: str, write: Any) -> None:
    texts = GROUPS[group].split("|")
    runs = [program(eval(f"lambda a: {t}", {"np": np}), write) for t in texts]
    everything = lambda a: [run(a) for run in runs]
    for got in (tj.jit(everything)(A), [tj.jvp(run, (A,), (A,))[0] for run in runs]):
        for text, pair, expected in zip(texts, got, everything(A), strict=True):
            np.testing.assert_array_equal(pair[0], expected[0], err_msg=text)
            np.testing.assert_array_equal(pair[1], expected[1], err_msg=text)
            assert pair[2] == expected[2], text


def test_what_is_caught_is_numpys_own_exception() -> None:
    """A handler with a name for what it catches may look at it."""

    def f(a: Any) -> Any:
        try:
            np.diagonal(a)[0] = 9
        except ValueError as e:
            return type(e) is ValueError, str(e), a * 2

    got, expected = tj.jit(f, fallback=False)(A), f(A)
    assert got[:2] == expected[:2] == (True, "assignment destination is read-only")
    np.testing.assert_array_equal(got[2], expected[2])


def test_derivatives_through_a_diagonal() -> None:
    def f(a: Any) -> Any:
        b = a * 1
        d = np.einsum("ii->i", b)
        d *= d
        return (b**3).sum()

    expected = 3 * A**2
    np.fill_diagonal(expected, 6 * A.diagonal() ** 5)
    assert np.allclose(tj.grad(f)(A), expected) and np.allclose(tj.jit(tj.grad(f))(A), expected)
    assert np.allclose(tj.vmap(f)(np.stack([A, A + 1])), [f(A), f(A + 1)])


def test_copies_that_are_forbidden() -> None:
    for f in (
        lambda a: np.array(a, dtype=np.float32, copy=False),
        lambda a: np.asarray(a, dtype=np.float32, copy=False),
        lambda a: np.reshape(a.T, 9, copy=False),
    ):
        for run in (f, tj.jit(f)):
            with pytest.raises(ValueError, match="Unable to avoid"):
                run(A)


def test_flags_are_what_numpy_says() -> None:
    def f(a: Any) -> list[Any]:
        views = (a, a.T, a[:, 1:], a.T[1:], a.diagonal(), np.broadcast_to(a, (2, 3, 3)), a[0], a.ravel())
        names = ("C_CONTIGUOUS", "F_CONTIGUOUS", "WRITEABLE")
        attributes = [(v.flags.contiguous, v.flags.fortran, v.flags.writeable) for v in views]
        return [v.flags[n] for v in views for n in names] + [np.isfortran(v) for v in views] + attributes

    assert tj.jit(f)(A) == f(A) and tj.jit(f)(np.asfortranarray(A)) == f(np.asfortranarray(A))


def test_writes_into_bits_leave_the_derivatives_of_other_elements():
    def f(x):
        x.view(np.int64)[0] = 0
        x.view(np.uint8)[8:16] = 0
        return (x**2).sum()

    x = np.array([1.0, 2.0, 3.0, 4.0])
    assert f(x.copy()) == 25.0
    for slope in (tj.grad(f), tj.jit(tj.grad(f)), tj.grad(tj.jit(f))):
        assert slope(x).tolist() == [0.0, 0.0, 6.0, 8.0]


def _first_is_zero(x: Any) -> None:
    x.view(np.int64)[0] = 0


def _zeros_are_zero(x: Any) -> None:
    x.view(np.int64)[x == 0] = 0


def _some_bytes_are_zero(x: Any) -> None:
    x.view(np.uint8)[9:12] = 0


def _second_by_an_index(x: Any) -> None:
    x.view(np.int64)[np.array([1])] = np.array([1.5]).view(np.int64)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("write", "slope"),
    [
        (_first_is_zero, [0.0, 4.0]),
        (_zeros_are_zero, [0.0, 4.0]),
        (_some_bytes_are_zero, [3.0, 0.0]),
        (_second_by_an_index, [3.0, 0.0]),
    ],
)
def test_numbers_whose_bits_are_written_have_no_derivative(
    write: Callable[[Any], None], slope: list[float], compiled: bool
) -> None:
    """Whether or not they are the bits that were there before."""

    def f(x: Any) -> Any:
        write(x)
        return (x * np.array([3.0, 4.0])).sum()

    x = np.array([0.0, 1.0])
    value, found = (tj.jit if compiled else lambda f: f)(tj.value_and_grad(f))(x)
    assert value == f(x.copy()) and found.tolist() == slope
