"""Products as sums over axes of two operands, and which of them BLAS may do."""

from __future__ import annotations

import math

from tracejit.ir.jaxpr import Eqn

LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
REAL = "sd"  # the letters of real numbers
TINY = 512  # multiplications up to which loops beat a call


class Product:
    """out[b, m, n] = sum over k of x[b, m, k] * y[b, k, n], each a list of axes."""

    def __init__(self, eqn: Eqn) -> None:
        self.x, self.y = eqn.invars
        self.out = eqn.outvars[0]
        (self.xk, self.yk), (self.xb, self.yb) = eqn.params["dimension_numbers"]
        self.xm = [n for n in range(self.x.aval.ndim) if n not in (*self.xk, *self.xb)]
        self.yn = [n for n in range(self.y.aval.ndim) if n not in (*self.yk, *self.yb)]
        self.batch = [self.x.aval.shape[n] for n in self.xb]
        self.m = [self.x.aval.shape[n] for n in self.xm]
        self.n = [self.y.aval.shape[n] for n in self.yn]
        self.k = [self.x.aval.shape[n] for n in self.xk]

    @property
    def is_row(self) -> bool:
        """Whether this is one matrix times one vector, of real numbers: their loops go along the matrix's memory."""
        axes = len(self.k) == 1 and len(self.m) + len(self.n) == 1 and not self.batch
        return axes and LETTERS.get(self.x.aval.dtype.name, "-") in REAL

    @property
    def work(self) -> int:
        return math.prod(d if type(d) is int else d.bound or 64 for d in (*self.m, *self.n, *self.k))


def against_blas(p: Product) -> str | None:
    """Why a product is not given to BLAS; None if it may be."""
    if p.x.aval.dtype.name not in LETTERS or not p.y.aval.dtype == p.x.aval.dtype == p.out.aval.dtype:
        return "type"
    if not (p.m or p.n):
        return "vectors"
    return "small" if p.work <= TINY and not p.is_row else None
