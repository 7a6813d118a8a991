"""Householder reflectors: the packed QR factorization and products of reflectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.errors import ShapeError
from tracejit.ir.avals import Aval
from tracejit.ir.primitive import not_differentiable
from tracejit.ops import _lazy
from tracejit.ops.decompositions import common as c
from tracejit.tracing import bind


def _type(a: Aval) -> list[Aval]:
    c.check_matrix("geqrf", a)
    *lead, m, n = a.shape
    return [a, Aval((*lead, c.least("geqrf", m, n)), a.dtype)]


def _eval(a: Any) -> list[Any]:
    shapes = [(a.shape, a.dtype), ((*a.shape[:-2], min(a.shape[-2:])), a.dtype)]
    if not a.size:
        return [np.zeros(s, d) for s, d in shapes]

    def one(x: Any) -> list[Any]:
        h, tau = np.linalg.qr(x, "raw")
        return [h.T, tau]

    return c.per_matrix(one, shapes, a, cores=(2,))


geqrf_op = c.factorization(
    "geqrf",
    "the packed QR factorization: R, the reflectors below it, and their factors",
    type=_type,
    eval=_eval,
    jvp=not_differentiable("the packed factors have no derivative rule; use qr"),
)


def geqrf(a: Any) -> list[Any]:
    """[packed factors (..., m, n), taus (..., min(m, n))], as LAPACK has them."""
    return bind(geqrf_op, a)


def _product_type(a: Aval, taus: Aval) -> Aval:
    c.check_matrix("householder_product", a)
    if taus.dtype != a.dtype or taus.shape[:-1] != a.shape[:-2]:
        raise ShapeError(op="householder_product", problem=f"the factors {taus} do not fit {a}")
    m, n = (c.bound_of(d) for d in a.shape[-2:])
    if c.bound_of(taus.shape[-1]) > n or n > m:
        raise ShapeError(
            op="householder_product", problem=f"{taus} reflectors in {a}: more than columns, or than rows"
        )
    return a


def _product_eval(a: Any, taus: Any) -> Any:
    if not a.size:
        return a.copy()
    name = "ungqr" if a.dtype.kind == "c" else "orgqr"
    product = _lazy.lapack(name, a.dtype)
    return c.per_matrix(lambda x, t: [product(x, t)[0]], [(a.shape, a.dtype)], a, taus, cores=(2, 1))[0]


householder_product_op = c.factorization(
    "householder_product",
    "the first columns of a product of reflectors, given packed as geqrf does",
    type=_product_type,
    eval=_product_eval,
    jvp=not_differentiable("products of packed reflectors have no derivative rule; use qr"),
    multi=False,
)


def householder_product(a: Any, taus: Any) -> Any:
    """The first n columns of H₁ H₂ … for reflectors in the columns of (..., m, n) and factors (..., k)."""
    return bind(householder_product_op, a, taus)
