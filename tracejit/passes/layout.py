"""layout: matrix products are written in the order in which they are read.

`(x @ w).T` is `w.T @ x.T`, which BLAS computes as well from the same operands: where all that reads a product reads
it transposed, the product is made that way, and nothing strides through it. The transposition may come later,
after elementwise operations: `f(a, b).T` is `f(a.T, b.T)`, where transposing an operand that is not a product
changes only how it is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tracejit.ir.jaxpr import Atom, Eqn, Jaxpr, Var
from tracejit.ir.kernel import Contract, Permute, Pointwise
from tracejit.passes.dce import dce
from tracejit.passes.rewrite import Pass, everywhere, rebuild

Order = tuple[int, ...]


def _layout(jaxpr: Jaxpr) -> Jaxpr:
    kernels = [e.op.kernel for e in jaxpr.eqns]
    if not any(isinstance(k, Contract) for k in kernels) or not any(isinstance(k, Permute) for k in kernels):
        return jaxpr
    jaxpr = dce(jaxpr)  # what simplifying left behind would count as readers
    turner = _Turner(jaxpr)
    for e in jaxpr.eqns:
        if not (isinstance(e.op.kernel, Permute) and turner.turn(e)):
            turner.add(e)
    return rebuild(jaxpr, turner.eqns, jaxpr.outs)


class _Turner:
    """The program so far. `uses`: how often a value is read, as an output too."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.eqns: list[Eqn] = []
        self.makers: dict[Any, Eqn] = {}
        self.uses = Counter(a for e in jaxpr.eqns for a in e.invars if type(a) is Var)
        self.uses.update(a for a in jaxpr.outs if type(a) is Var)

    def add(self, e: Eqn) -> None:
        self.eqns.append(e)
        self.makers.update((v, e) for v in e.outvars)

    def turn(self, e: Eqn) -> bool:
        """Write what stands for transposition `e`, if it is one of products."""
        order = e.params["permutation"]
        if not self.is_product(e.invars[0], order):
            return False
        self.write(e.invars[0], order, e)
        return True

    def is_product(self, a: Atom, order: Order) -> bool:
        """Whether `a`, read nowhere else, is a product or made of ones, which `order` turns."""
        e = self.makers.get(a)
        if e is None or self.uses[a] != 1 or e.effects:  # type: ignore[index]
            return False
        if isinstance(e.op.kernel, Contract):
            return order == _turned(e)
        return _is_elementwise(e) and any(self.is_product(x, order) for x in e.invars)

    def write(self, a: Any, order: Order, transposition: Eqn) -> None:
        """Write `a` transposed as the result of `transposition`."""
        e, out = self.makers[a], transposition.outvars
        if isinstance(e.op.kernel, Contract):
            contracted, batch = e.params["dimension_numbers"]
            params = {**e.params, "dimension_numbers": (contracted[::-1], batch[::-1])}
            self.add(Eqn(e.op, e.invars[::-1], out, params, e.source, e.effects))
            return
        invars = [self.operand(x, order, transposition) for x in e.invars]
        self.add(Eqn(e.op, tuple(invars), out, e.params, e.source, e.effects))

    def operand(self, x: Atom, order: Order, like: Eqn) -> Atom:
        """`x` transposed, if it has axes."""
        if not x.aval.shape:
            return x
        shape = tuple(x.aval.shape[n] for n in order)
        new = like.replace(invars=(x,), outvars=(Var(None, x.aval.with_shape(shape)),))
        if self.is_product(x, order):
            self.write(x, order, new)
        else:
            self.add(new)
        return new.outvars[0]


def _is_elementwise(e: Eqn) -> bool:
    return type(e.op.kernel) is Pointwise and len(e.outvars) == 1


def _turned(product: Eqn) -> Sequence[int]:
    """The axes of a product with its operands swapped. There are two kinds of them, or nothing to turn: ()."""
    contracted, batch = product.params["dimension_numbers"]
    count = len(batch[0])
    x, y = (a.aval.ndim - len(c) - count for a, c in zip(product.invars, contracted, strict=True))
    axes = range(count + x + y)
    return (*axes[:count], *axes[count + x :], *axes[count : count + x]) if x and y else ()


layout = Pass("layout", everywhere(_layout))
