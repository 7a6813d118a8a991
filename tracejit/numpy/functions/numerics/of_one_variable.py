"""`numpy.poly1d` of traced coefficients: a polynomial as an object, and a node of trees whose leaf is its coefficients.

NumPy leaves away leading zeros, so that the degree depends on values. Here the first coefficient is taken not to be
zero; the program checks that, and Python does the call where it is. Where it is differentiated or one of several
examples, zeros are kept: a coefficient that is zero has a derivative, and the values are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.errors import ArgumentError, UnfollowedError
from tracejit.interpreters.stage import StageTrace
from tracejit.ir.values import Value
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT as NP
from tracejit.numpy.dispatch import Adopted, publish
from tracejit.numpy.functions.arrays.shaping import atleast_1d, box_of
from tracejit.numpy.functions.numerics import polynomials
from tracejit.numpy.operands import SEQUENCES, has_box, raw
from tracejit.tracing import Box, box

_DEGREE = "a polynomial whose first coefficient is zero"


class _Like(type):
    """Its classes make NumPy's objects of what is not traced."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return (
            super().__call__(*args, **kwargs)
            if has_box((*args, *kwargs.values()))
            else np.poly1d(*args, **kwargs)
        )

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, np.poly1d)


class Poly1d(np.poly1d, metaclass=_Like):
    """A polynomial of one variable, by its coefficients, the highest power first."""

    def __init__(self, c_or_r: Any, r: Any = False, variable: Any = None) -> None:
        if type(c_or_r) is Poly1d:
            self._coeffs, self._variable = c_or_r.coeffs, variable or c_or_r.variable
            return
        c = atleast_1d(box_of(polynomials.poly(c_or_r) if r else c_or_r))
        if c.ndim > 1:
            raise ArgumentError(name="poly1d", problem="Polynomial must be 1d only.")
        self._coeffs, self._variable = _trimmed(c), "x" if variable is None else variable

    @property
    def roots(self) -> Any:
        """The roots; zeros among them must be known."""
        c = self.coeffs
        if c.shape[0] < 2 or extents.known(raw(c)) is not None:
            return polynomials.roots(c)
        if _is_staged(c):
            leave_if(raw(c[-1] == 0), "roots that are zero")
        return polynomials.roots(c, strip_zeros=False)

    r = roots

    def __call__(self, val: Any) -> Any:
        if isinstance(val, np.poly1d):
            out = _made(self.coeffs[:1])
            for c in self.coeffs[1:]:
                out = out * val + c
            return out
        return polynomials.polyval(self.coeffs, val)

    def __neg__(self) -> Any:
        return _made(-self.coeffs)

    def __mul__(self, other: Any) -> Any:
        if np.isscalar(other) or (type(other) is Box and not other.ndim):
            return Poly1d(self.coeffs * other)
        return Poly1d(polynomials.polymul(self.coeffs, _coefficients(other)))

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Any:
        return Poly1d(polynomials.polyadd(self.coeffs, _coefficients(other)))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return Poly1d(polynomials.polysub(self.coeffs, _coefficients(other)))

    def __rsub__(self, other: Any) -> Any:
        return Poly1d(polynomials.polysub(_coefficients(other), self.coeffs))

    def __pow__(self, val: Any) -> Any:
        if not np.isscalar(val) or int(val) != val or val < 0:  # type: ignore[arg-type, operator]
            raise ArgumentError(name="poly1d", problem="Power to non-negative integers only.")
        out: Any = [1]
        for _ in range(int(val)):  # type: ignore[arg-type]
            out = polynomials.polymul(self.coeffs, out)
        return Poly1d(out)

    def __truediv__(self, other: Any) -> Any:
        if np.isscalar(other) or (type(other) is Box and not other.ndim):
            return Poly1d(self.coeffs / other)
        return tuple(map(Poly1d, polynomials.polydiv(self.coeffs, _coefficients(other))))

    def __rtruediv__(self, other: Any) -> Any:
        if np.isscalar(other) or (type(other) is Box and not other.ndim):
            return Poly1d(other / self.coeffs)
        return tuple(map(Poly1d, polynomials.polydiv(_coefficients(other), self.coeffs)))

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, np.poly1d):
            return NotImplemented
        same: Any = self.coeffs.shape == other.coeffs.shape
        return (self.coeffs == other.coeffs).all() if same else False

    def __ne__(self, other: object) -> Any:
        same = self.__eq__(other)
        if type(same) is not Box:
            return same if same is NotImplemented else not same
        return box(raw(NP[np.logical_not](same)), True)  # Python's `not`

    __hash__ = None

    def __getitem__(self, val: Any) -> Any:
        c = self.coeffs
        return c.dtype.type(0) if val > self.order or val < 0 else c[self.order - val]

    def __setitem__(self, key: Any, val: Any) -> None:
        if key < 0:
            raise ArgumentError(name="poly1d", problem="Does not support negative powers.")
        if key > self.order:
            raise UnfollowedError(
                what="a polynomial's new power", reason="it would be an array of another length"
            )
        self.coeffs[self.order - key] = val

    def __iter__(self) -> Iterator[Any]:
        return iter(self.coeffs)

    def __array__(self, t: Any = None, copy: Any = None) -> Any:
        return self.coeffs.__array__()

    def __repr__(self) -> str:
        raise UnfollowedError(what="text of a polynomial", reason="its coefficients are traced")

    __str__ = __repr__

    def integ(self, m: Any = 1, k: Any = 0) -> Any:
        """The integral with the constants `k`."""
        return Poly1d(polynomials.polyint(self.coeffs, m=m, k=k))

    def deriv(self, m: Any = 1) -> Any:
        """The derivative of order `m`."""
        return Poly1d(polynomials.polyder(self.coeffs, m=m))


def _made(c: Any, variable: str = "x") -> Any:
    """The polynomial with these coefficients, as they are."""
    out: Any = object.__new__(Poly1d if isinstance(c, (Box, Value)) else np.poly1d)
    out._coeffs, out._variable = c, variable
    return out


def _coefficients(x: Any) -> Any:
    return (
        x.coeffs
        if isinstance(x, np.poly1d)
        else np.poly1d(x).coeffs
        if not has_box((x,))
        else Poly1d(x).coeffs
    )


def _trimmed(c: Any) -> Any:
    """Without leading zeros, where that is known."""
    if not c.shape[0]:
        return NP[np.zeros](1, c.dtype)
    if isinstance(raw(c), Value):
        if c.shape[0] > 1 and _is_staged(c):
            leave_if(raw(c[0] == 0), _DEGREE)
        return c
    places = np.nonzero(raw(c))[0]
    return c[int(places[0]) :] if places.size else c[-1:]


def _is_staged(c: Any) -> bool:
    value = raw(c)
    return isinstance(value, Value) and isinstance(value.trace, StageTrace)


def adopted(value: Any) -> Adopted | None:
    """How the counterpart of a polynomial that traced code captures is made."""
    plain = type(value) is np.poly1d and value.coeffs.dtype.kind in "biufc"
    return Adopted(("coeffs",), ("variable",), _made) if plain else None


def _parts(p: Any) -> tuple[Iterable[Any], Any]:
    return (p.coeffs,), p.variable


def _together(variable: Any, children: Iterable[Any]) -> Any:
    (c,) = children
    return _made(c, variable)


publish(np.poly1d, Poly1d, "poly1d")
SEQUENCES[Poly1d] = lambda p: p.coeffs
for _cls in (np.poly1d, Poly1d):
    tree.register(_cls, _parts, _together)
