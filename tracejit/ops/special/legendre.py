"""Legendre functions, which SciPy gives with their first and second derivatives: three results of functions by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ops._lazy import scipy_special
from tracejit.ops.special.algebra import Term
from tracejit.ops.special.named import FAMILIES, SLOPES
from tracejit.ops.special.named import term as f


class Family:
    """One of SciPy's families: a function of `whole` integers and a number, and its derivatives by the number.

    `options` choose the member of the family; `last`, that its last integer follows the number in SciPy's order.
    """

    def __init__(self, name: str, whole: int, last: bool = False, kinds: str = "d", **options: bool) -> None:
        self.name = name
        self.nin = whole + 1
        self.last = last
        self.options = options
        self.types = ["l" * whole + kind + "->" + kind * 3 for kind in kinds]

    def __call__(self, *xs: Any, part: int = 2) -> tuple[Any, ...]:
        """The value and the derivatives up to number `part`."""
        *whole, x = np.broadcast_arrays(*xs)
        after = [whole.pop()] if self.last else []
        options = {"branch_cut": after[0]} if after else {}
        out = getattr(scipy_special(), self.name)(*whole, x, diff_n=part, **options, **self.options)
        return tuple(out)


def _slope(name: str, part: int) -> Any:
    return lambda y, *xs: f(name, *xs, part=part)


FAMILIES["_legendre_p"] = Family("legendre_p", 1)
FAMILIES["_sph_legendre_p"] = Family("sph_legendre_p", 2)
FAMILIES["_assoc_legendre_p"] = Family("assoc_legendre_p", 3, True, "dD", norm=False)
FAMILIES["_assoc_legendre_p_norm"] = Family("assoc_legendre_p", 3, True, "dD", norm=True)
for _name, _family in FAMILIES.items():
    for _part in (0, 1):
        SLOPES[_name, _part] = (*[None] * (_family.nin - 1), _slope(_name, _part + 1))


def _third(y: Term, n: Term, x: Term) -> Term:
    """Of Legendre's equation, differentiated: (1 - x**2) p''' = 4 x p'' - (n (n + 1) - 2) p'."""
    first = f("_legendre_p", n, x, part=1)
    return (x * y * 4 - (n * (n + 1) - 2) * first) / (1 - x * x)


SLOPES["_legendre_p", 2] = (None, _third)
