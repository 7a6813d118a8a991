"""Programs that copy objects of outside, whose classes say how, and that look at the order and type of what libraries give."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import scipy.fft
import scipy.linalg
import scipy.ndimage
import scipy.special
import scipy.stats

from tests.programs.observe import program


class Plain:
    def __init__(self, v: Any) -> None:
        self.v, self.n = v, 0


class State(Plain):
    def __getstate__(self) -> Any:
        return {"v": 2 * self.v}

    def __setstate__(self, state: Any) -> None:
        self.v, self.n = state["v"], 9


class Reduced(Plain):
    def __reduce__(self) -> Any:
        return Reduced, (self.v + 1,)


class Extended(Plain):
    def __reduce_ex__(self, protocol: Any) -> Any:
        return Extended, (self.v + 1,), {"n": 4}


class Copies(Plain):
    def __copy__(self) -> Any:
        return Copies(self.v + 10)

    def __deepcopy__(self, memo: Any) -> Any:
        return Copies(copy.deepcopy(self.v, memo) + 20)


class Counted(Plain):
    made = 0

    def __new__(cls, *args: Any) -> Any:
        new = super().__new__(cls)
        new.tag = "new"
        return new


def _copied(cls: type) -> Any:
    o = cls(1.5)

    def f(x, given):
        shallow, deep, other = copy.copy(o), copy.deepcopy([o, o]), copy.copy(given)
        shallow.v = shallow.v + x
        other.n = other.n + 1
        return shallow, deep, deep[0] is deep[1], other, type(other).__name__

    return f, [(1.0, cls(1.0)), (2.0, cls(2.0)), (-3.0, cls(3.0))], lambda: o


@program
def copies_of_plain_objects() -> Any:
    return _copied(Plain)


@program
def copies_by_a_state() -> Any:
    return _copied(State)


@program
def copies_by_reduce() -> Any:
    return _copied(Reduced)


@program
def copies_by_reduce_ex() -> Any:
    return _copied(Extended)


@program
def copies_by_methods_for_it() -> Any:
    return _copied(Copies)


@program
def copies_of_objects_that_are_made_in_an_own_way() -> Any:
    return _copied(Counted)


# ---------------------------------------------------------------- what libraries give

_A = np.arange(9.0).reshape(3, 3) + 3 * np.eye(3)
_CALLS: list[Any] = [(_A,), (2 * _A,), (np.asfortranarray(_A),)]


@program
def orders_of_factors() -> Any:
    def f(x):
        square = x @ x.T
        factors = scipy.linalg.qr(x), scipy.linalg.svd(x), scipy.linalg.lu_factor(x)
        roots = scipy.linalg.cholesky(square), scipy.linalg.cho_factor(square), scipy.linalg.schur(square)
        return *factors, *roots, scipy.linalg.qr(x[:, :2], mode="economic")

    return f, _CALLS, None


@program
def orders_of_solutions() -> Any:
    def f(x):
        triangular = scipy.linalg.solve_triangular(x, x)
        by_factors = scipy.linalg.lu_solve(scipy.linalg.lu_factor(x), x)
        return (
            scipy.linalg.solve(x, x),
            triangular,
            by_factors,
            scipy.linalg.inv(x),
            scipy.linalg.pinv(x),
            triangular.T @ by_factors,
        )

    return f, _CALLS, None


@program
def orders_of_transforms_and_filters() -> Any:
    def f(x):
        return (
            scipy.fft.fft(x, axis=0),
            scipy.fft.fft2(x),
            scipy.ndimage.gaussian_filter(x, 1),
            scipy.special.softmax(x, axis=0),
            scipy.stats.zscore(x),
        )

    return f, _CALLS, None


@program
def orders_of_arrays_that_are_known() -> Any:
    def f(x):
        known = scipy.stats.qmc.Halton(2, seed=3).random(4)
        return known * x[0, 0], x[0, 0] - known, np.maximum(known, x[1, 1])

    return f, _CALLS, None


@program
def types_of_norms() -> Any:
    def f(x):
        norms = [scipy.linalg.norm(x, o) for o in (None, 1, np.inf, 2, "fro", -1)]
        vectors = [scipy.linalg.norm(x[0], o) for o in (None, 2, 1)]
        strided = scipy.linalg.norm(x[::2, ::2], 1)
        return norms, vectors, strided, scipy.linalg.norm(x, axis=0), scipy.linalg.norm(x, keepdims=True)

    return f, [*_CALLS, (_A.astype(np.float32),), (_A.astype(int),), (_A + 1j,)], None


@program
def roots_of_matrices() -> Any:
    return scipy.linalg.sqrtm, [(_A @ _A.T,), (-np.eye(3),), (_A,)], None
