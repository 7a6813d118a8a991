"""batchnorm: factors of single features of a matrix product multiply its matrix instead. Only with `fastmath`.

Inference with batch normalisation computes `(conv(x, w) + b - mean) / sqrt(var + eps) * gamma + beta`, where
everything but the convolution has one number a feature. For an elementwise M that is linear in its first operand,
and a sum A, `M(x @ w, d) = x @ M(w, d)` and `M(A(y, b), d) = A(M(y, d), M(b, d))`: what is left for every
element of the product are the sums. Factors that are one number go the same way. It rounds otherwise than what
was written, so strict programs keep theirs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from tracejit.ir.avals import Aval
from tracejit.ir.jaxpr import Atom, Eqn, Jaxpr, Var
from tracejit.ir.kernel import Contract, Permute, Pointwise, Pull, Repeat
from tracejit.ir.primitive import LINEAR
from tracejit.passes.dce import dce
from tracejit.passes.rewrite import Pass, everywhere, rebuild


class Feature(NamedTuple):
    """One number (0-d, no axes), or numbers along one axis: axis n of `atom` is axis `axes[n]` of the product,
    and all but one have size 1. `repeat` is the equation that repeats it."""

    atom: Any
    axes: tuple[int, ...]
    repeat: Eqn | None

    @property
    def place(self) -> int | None:
        """Which axis of `atom` has the numbers."""
        return next((n for n, d in enumerate(self.atom.aval.shape) if d != 1), None)

    @property
    def axis(self) -> int | None:
        """Which axis of the product they belong to."""
        return None if self.place is None else self.axes[self.place]


class Chain(NamedTuple):
    """A product, views of it (the last one first), and sums above them: (equation, which operand has the product,
    the other)."""

    product: Eqn
    views: list[Eqn]
    sums: list[tuple[Eqn, int, Feature]]


class Target(NamedTuple):
    """What is multiplied instead of the product: `atom`, along `axis`. The equations of `path` repeat it (the last
    one first) to operand `operand` of the product."""

    operand: int
    atom: Any
    axis: int | None
    path: list[Eqn]


def _batchnorm(jaxpr: Jaxpr) -> Jaxpr:
    if not any(isinstance(e.op.kernel, Contract) for e in jaxpr.eqns):
        return jaxpr
    jaxpr = dce(jaxpr)  # what simplifying left behind would count as uses
    folder = _Folder(jaxpr)
    for e in jaxpr.eqns:
        folder.add(folder.folded(e) or [e])
    return rebuild(jaxpr, list(folder.eqns.values()), jaxpr.outs)


class _Folder:
    """The program so far."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.eqns: dict[int, Eqn] = {}
        self.makers: dict[Any, Eqn] = {}
        self.uses = Counter(a for e in jaxpr.eqns for a in e.invars if type(a) is Var)
        self.uses.update(a for a in jaxpr.outs if type(a) is Var)

    def add(self, eqns: Sequence[Eqn]) -> None:
        for e in eqns:
            self.eqns[id(e)] = e
            self.makers.update((v, e) for v in e.outvars)

    def folded(self, e: Eqn) -> list[Eqn] | None:
        """What stands for `e`, a factor of a product's features; None if it is something else."""
        if not _elementwise(e) or e.op.series is LINEAR or len(e.invars) != 2:
            return None
        for n in e.op.linear:
            factor = self.feature(e.invars[1 - n])
            if factor is None or (chain := self.chain(e.invars[n], factor.axis)) is None:
                continue
            target = self.target(chain, factor)
            if target is not None:
                for old in (chain.product, *chain.views, *(s[0] for s in chain.sums)):
                    self.eqns.pop(id(old), None)
                writer = _Writer(e, n, factor)
                writer.write(chain, target)
                self.uses.update(a for q in writer.eqns for a in q.invars if type(a) is Var)
                return writer.eqns
        return None

    def feature(self, a: Atom) -> Feature | None:
        """`a` as numbers along one axis at most."""
        if not a.aval.shape:
            return Feature(a, (), None)
        e = self.makers.get(a)
        if e is None or not isinstance(e.op.kernel, Repeat) or len(e.invars) != 1:
            return None
        x = e.invars[0]
        if not x.aval.shape:
            return Feature(x, (), None)
        return (
            Feature(x, e.params["broadcast_dimensions"], e)
            if sum(d != 1 for d in x.aval.shape) == 1
            else None
        )

    def chain(self, y: Any, axis: int | None) -> Chain | None:
        """The product below `y`, if between them is nothing but sums with numbers along `axis`; all of it used
        for `y` only."""
        sums: list[tuple[Eqn, int, Feature]] = []
        views: list[Eqn] = []
        while self.uses[y] == 1 and (e := self.makers.get(y)) is not None:
            if isinstance(e.op.kernel, Contract):
                return Chain(e, views, sums) if _alike(e) else None
            if _is_view(e):
                views.append(e)
                y = e.invars[0]
                continue
            if views or not (_elementwise(e) and e.op.series is LINEAR and len(e.invars) == 2):
                return None
            n = int(self.feature(e.invars[0]) is not None)
            term = self.feature(e.invars[1 - n])
            if term is None or (axis is not None and term.axis not in (None, axis)):
                return None
            axis = term.axis if axis is None else axis
            sums.append((e, n, term))
            y = e.invars[n]
        return None

    def target(self, chain: Chain, factor: Feature) -> Target | None:
        """The smallest array that may be multiplied in the product's place, if it is worth it."""
        axis = factor.axis
        for view in chain.views:
            if axis is not None and (axis := _viewed(view, axis)) is None:
                return None
        sources = [self.source(chain.product, n, a) for n, a in _origins(chain.product, axis)]
        fitting = [t for t in sources if _fits(factor, t)]
        best = min(fitting, key=lambda t: t.atom.aval.size, default=None)
        worth = best is not None and 2 * best.atom.aval.size <= chain.product.outvars[0].aval.size
        return best if worth else None

    def source(self, product: Eqn, operand: int, axis: int | None) -> Target:
        """What the operand repeats."""
        atom, path = product.invars[operand], []
        while (
            (e := self.makers.get(atom)) is not None
            and isinstance(e.op.kernel, Repeat)
            and len(e.invars) == 1
        ):
            x = e.invars[0]
            if axis is not None:
                axes = e.params["broadcast_dimensions"]
                if axis not in axes or x.aval.shape[axes.index(axis)] == 1:
                    break
                axis = axes.index(axis)
            atom = x
            path.append(e)
        return Target(operand, atom, axis, path)


def _elementwise(e: Eqn) -> bool:
    return type(e.op.kernel) is Pointwise and _alike(e)


def _alike(e: Eqn) -> bool:
    """All of one floating dtype, of known extents."""
    avals = [a.aval for a in (*e.invars, *e.outvars)]
    dtype = avals[0].dtype
    return dtype.kind in "fc" and dtype.itemsize >= 4 and all(a.dtype == dtype and a.is_static for a in avals)


def _is_view(e: Eqn) -> bool:
    """A transposition, or the same elements in another shape."""
    return isinstance(e.op.kernel, Permute) or (isinstance(e.op.kernel, Pull) and e.op.kernel.alias)


def _viewed(view: Eqn, axis: int) -> int | None:
    """Which axis of its operand is `axis` of a view."""
    if isinstance(view.op.kernel, Permute):
        return view.params["permutation"][axis]
    shape, source = view.outvars[0].aval.shape, view.invars[0].aval.shape
    before = math.prod(shape[:axis])
    return next(
        (n for n, d in enumerate(source) if d == shape[axis] and math.prod(source[:n]) == before), None
    )


def _origins(product: Eqn, axis: int | None) -> list[tuple[int, int | None]]:
    """Which axes of which operands are `axis` of a product."""
    if axis is None:
        return [(0, None), (1, None)]
    contracted, batch = product.params["dimension_numbers"]
    if axis < len(batch[0]):
        return [(0, batch[0][axis]), (1, batch[1][axis])]
    free = [
        (n, a)
        for n in (0, 1)
        for a in range(product.invars[n].aval.ndim)
        if a not in contracted[n] and a not in batch[n]
    ]
    return [free[axis - len(batch[0])]]


def _moved(f: Feature, axis: int) -> tuple[int, ...]:
    """Where the axes of `f` go when its numbers go to `axis`."""
    assert f.place is not None
    return tuple(range(axis - f.place, axis - f.place + len(f.axes)))


def _fits(f: Feature, t: Target) -> bool:
    if t.axis is None:
        return True
    axes = _moved(f, t.axis)
    return axes[0] >= 0 and axes[-1] < t.atom.aval.ndim


class _Writer:
    """Writes a chain with `factor` multiplied into it by equation `e`, whose operand `n` was the chain."""

    def __init__(self, e: Eqn, n: int, factor: Feature) -> None:
        self.e, self.n, self.factor = e, n, factor
        self.eqns: list[Eqn] = []

    def write(self, chain: Chain, target: Target) -> None:
        scaled = self._times(target.atom, self._repeated(self.factor, target.atom.aval.shape, target.axis))
        for q in reversed(target.path):
            scaled = self._like(q, (scaled,), q.outvars[0].aval)
        operands = list(chain.product.invars)
        operands[target.operand] = scaled
        y = self._like(chain.product, operands, chain.product.outvars[0].aval)
        for view in reversed(chain.views):
            y = self._like(view, (y,), view.outvars[0].aval)
        for q, n, term in reversed(chain.sums):
            other = self._spread(self._product(term), q.outvars[0].aval.shape)
            y = self._like(q, (y, other) if n == 0 else (other, y), q.outvars[0].aval)
        last = self.eqns[-1]
        self.eqns[-1] = last.replace(outvars=self.e.outvars)

    def _like(self, q: Eqn, operands: Sequence[Atom], aval: Aval, **params: Any) -> Var:
        """The result of an equation like `q`."""
        out = Var(None, aval)
        self.eqns.append(Eqn(q.op, tuple(operands), (out,), {**q.params, **params}, q.source, q.effects))
        return out

    def _times(self, x: Atom, d: Atom) -> Var:
        shape = x.aval.shape or d.aval.shape
        return self._like(self.e, (x, d) if self.n == 0 else (d, x), x.aval.with_shape(shape))

    def _repeated(self, f: Feature, shape: tuple[int, ...], axis: int | None) -> Atom:
        """The numbers of `f` along `axis` of an array."""
        return f.atom if axis is None else self._repeat(f, shape, _moved(f, axis))

    def _spread(self, f: Feature, shape: tuple[int, ...]) -> Atom:
        return self._repeat(f, shape, f.axes) if f.axes else f.atom

    def _repeat(self, f: Feature, shape: tuple[int, ...], axes: tuple[int, ...]) -> Atom:
        assert f.repeat is not None
        if f.atom.aval.shape == shape:
            return f.atom
        aval = f.atom.aval.with_shape(shape)
        return self._like(f.repeat, (f.atom,), aval, shape=shape, broadcast_dimensions=axes)

    def _product(self, term: Feature) -> Feature:
        """A term of the sums, multiplied."""
        d = self.factor
        if term.axes and d.axes and (term.axes, term.atom.aval.shape) != (d.axes, d.atom.aval.shape):
            term, d = self._aligned(term), self._aligned(d)
        kept = term if term.axes else d
        return Feature(self._times(term.atom, d.atom), kept.axes, kept.repeat)

    def _aligned(self, f: Feature) -> Feature:
        """`f` with all axes of the product, those without numbers of size 1."""
        shape = [1] * self.e.outvars[0].aval.ndim
        assert f.axis is not None and f.place is not None
        shape[f.axis] = f.atom.aval.shape[f.place]
        return Feature(self._repeat(f, tuple(shape), f.axes), tuple(range(len(shape))), f.repeat)


batchnorm = Pass("batchnorm", everywhere(_batchnorm))
