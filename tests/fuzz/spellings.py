"""What the structures of a program mean: in plain Python (the oracle), and by tracejit.

A program calls `L.scan`, `L.cond`, `L.rounded` … where `L` is a `Plain` or a `Traced`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj
from tests.cases import CASES
from tracejit import lax
from tracejit.tracing import to_raw, wrap

#: Relative sizes of the disturbances of `Plain.rounded`, some ten thousand units in the last place.
NOISE = {"float64": 1e-11, "float32": 1e-5, "float16": 1e-2, "complex128": 1e-11, "complex64": 1e-5}


def own(tree: Any) -> Any:
    """The function's own copies of its operands. A Python number, the index of a loop, is one of NumPy's."""
    return tj.tree.map(lambda x: np.array(x)[()] if isinstance(x, (np.ndarray, int, float)) else x, tree)


def part(tree: Any, i: int, axes: Any = 0) -> Any:
    """Slice `i` of the trees' leaves."""
    return tree if axes is None else tj.tree.map(lambda x: np.take(x, i, axis=axes), tree)


def stacked(trees: list[Any], axis: int = 0) -> Any:
    return tj.tree.map(lambda *xs: np.stack([np.asarray(x) for x in xs], axis), *trees)


def operand(name: str, n: int, k: int, seed: int) -> Any:
    """Operand `k` of a case."""
    return CASES[name][n].args(seed)[k]


class Plain:
    """Python loops and NumPy, nothing of tracejit.

    `noise` disturbs what `rounded` marks, results that a compiled program may give with other last
    bits, and what `felt` marks, operands. How far that moves an output is how far the output may be off.
    """

    operand = staticmethod(operand)

    def __init__(self, noise: float = 0.0) -> None:
        self.noise, self.count = noise, 0
        self.narrow = False  # whether something was computed in less than double precision

    def rounded(self, x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(map(self.rounded, x))
        self.narrow |= x.dtype.kind in "fc" and x.dtype.name in ("float16", "float32", "complex64")
        out = self.felt(x)
        return out if out is x else np.where(x == 0, -x, out)[()]  # zeros of the other sign

    def felt(self, x: Any) -> Any:
        """An operand of what rounds inside, where terms may cancel: a sum may be that of a disturbed operand."""
        if not self.noise or str(np.asarray(x).dtype) not in NOISE:
            return x
        self.count += 1
        wave = np.cos(self.count * 1.7 + 2.3 * np.arange(x.size)).reshape(x.shape)
        factor = 1 + self.noise * NOISE[str(x.dtype)] * np.where(np.abs(wave) < 0.3, 0.3, wave)
        with np.errstate(all="ignore"):
            return (x * factor).astype(x.dtype)[()]

    def cond(self, pred: Any, yes: Any, no: Any, *operands: Any) -> Any:
        return self.taken([no, yes], int(bool(pred)), operands)

    def switch(self, index: Any, branches: Any, *operands: Any) -> Any:
        return self.taken(branches, min(max(int(index), 0), len(branches) - 1), operands)

    def taken(self, branches: Any, n: int, operands: Any) -> Any:
        for other in branches:
            self.probe(other, *operands)
        return own(branches[n](*own(operands)))

    def probe(self, body: Any, *operands: Any) -> None:
        """Programs in which a body that never runs is wrong are no programs."""
        count = self.count
        body(*own(operands))
        self.count = count

    def while_loop(self, cond: Any, body: Any, init: Any) -> Any:
        value = own(init)
        self.probe(body, value)
        while cond(own(value)):
            value = own(body(value))
        return value

    def fori_loop(self, lower: Any, upper: Any, body: Any, init: Any) -> Any:
        value = own(init)
        strong = [np.asarray(x).dtype for x in (lower, upper) if type(x) is not int]
        index = np.result_type(*strong).type if strong else int
        self.probe(body, index(0), value)
        for i in range(int(lower), int(upper)):
            value = own(body(index(i), value))
        return value

    def scan(self, f: Any, init: Any, xs: Any, length: int | None = None, reverse: bool = False) -> Any:
        n = length if length is not None else len(tj.tree.leaves(xs)[0])
        value, ys = own(init), [None] * n
        for i in reversed(range(n)) if reverse else range(n):
            value, ys[i] = own(f(value, part(xs, i)))
        return value, stacked(ys)

    def vmap(self, f: Any, in_axes: Any = 0, out_axes: int = 0) -> Any:
        def run(*args: Any) -> Any:
            axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
            size = next(np.shape(x)[a] for x, a in zip(args, axes, strict=True) if a is not None)
            rows = [[own(part(x, i, a)) for x, a in zip(args, axes, strict=True)] for i in range(size)]
            return stacked([f(*row) for row in rows], out_axes)

        return run

    def jit(self, f: Any) -> Any:
        return f

    def case(self, name: str, n: int, *xs: Any) -> Any:
        """The evaluation, by NumPy, of a case of the rule-completeness test."""
        self.narrow |= not CASES[name][n].smooth  # differences see what has no derivative
        out = own(CASES[name][n].fn(*xs))  # some give views
        return tuple(out) if isinstance(out, (list, tuple)) else out

    checkpoint = with_jvp = with_vjp = jit


class Traced:
    """The same by tracejit."""

    operand = staticmethod(operand)
    cond, switch = staticmethod(lax.cond), staticmethod(lax.switch)
    while_loop, fori_loop = staticmethod(lax.while_loop), staticmethod(lax.fori_loop)
    vmap, jit, checkpoint = staticmethod(tj.vmap), staticmethod(tj.jit), staticmethod(tj.checkpoint)

    def rounded(self, x: Any) -> Any:
        return x

    felt = rounded

    def scan(self, f: Any, init: Any, xs: Any, length: int | None = None, reverse: bool = False) -> Any:
        return lax.scan(f, init, xs, length=length, reverse=reverse)

    def case(self, name: str, n: int, *xs: Any) -> Any:
        out = own(CASES[name][n].fn(*map(to_raw, xs)))
        # What is known is copied by traced code, which makes it a box.
        return tuple(wrap(to_raw(x)) for x in out) if isinstance(out, (list, tuple)) else wrap(to_raw(out))

    def with_jvp(self, f: Any) -> Any:
        g = tj.custom_jvp(f)
        g.defjvp(lambda primals, tangents: tj.jvp(f, primals, tangents))
        return g

    def with_vjp(self, f: Any) -> Any:
        g = tj.custom_vjp(f)
        g.defvjp(lambda *xs: (f(*xs), xs), lambda saved, ct: tj.vjp(f, *saved)[1](ct))
        return g


Spelling = Plain | Traced
Body = Callable[..., Any]
#: What a program file is written against; whoever runs it sets its own.
L: Spelling = Plain()
