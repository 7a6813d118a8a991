"""Random pure functions of a vector in two spellings: with every structure of tracejit, and unrolled.

A *block* takes a spelling and a vector of `SIZE` numbers and gives another one. `Traced` spells loops by
`tracejit.lax` and wraps parts in custom rules, checkpoint, jit and vmap; `Unrolled` is the Python that they mean.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tracejit as tj
from tracejit import lax

SIZE = 3
Block = Callable[[Any, Any], Any]


class Carry(NamedTuple):
    """A carry with a hole and a leaf whose tangent starts as zero."""

    value: Any
    nothing: None
    late: Any


class Unrolled:
    """What the structures mean, in plain Python."""

    def cond(self, pred: Any, yes: Any, no: Any, *operands: Any) -> Any:
        return yes(*operands) if pred else no(*operands)

    def switch(self, index: Any, branches: Any, *operands: Any) -> Any:
        return branches[min(max(int(index), 0), len(branches) - 1)](*operands)

    def while_loop(self, cond: Any, body: Any, init: Any) -> Any:
        while cond(init):
            init = body(init)
        return init

    def fori_loop(self, lower: Any, upper: Any, body: Any, init: Any) -> Any:
        for i in range(int(lower), int(upper)):
            init = body(i, init)
        return init

    def scan(self, f: Any, init: Any, xs: Any, length: int, reverse: bool) -> tuple[Any, list[Any]]:
        ys: list[Any] = [None] * length
        for n in reversed(range(length)) if reverse else range(length):
            init, ys[n] = f(init, None if xs is None else tj.tree.map(lambda a, n=n: a[n], xs))
        return init, ys

    def mapped(self, f: Any, x: Any) -> Any:
        return [f(x * (0.5 + 0.25 * n)) for n in range(2)]

    def with_jvp(self, f: Any) -> Any:
        return f

    with_vjp = checkpoint = jit = with_jvp

    def inside(self, rule: str) -> Unrolled:
        return self

    def derivative(self, f: Any, x: Any, w: Any) -> Any:
        return tj.jvp(f, (x,), (w,))[1]


class Traced:
    """The same by tracejit's structures. Functions with a `custom_vjp` have no derivative forwards, so there
    are none where the innermost derivative is to be such a one."""

    def __init__(self, forward: bool = True) -> None:
        self.forward = forward

    cond, switch, while_loop, fori_loop = (
        staticmethod(lax.cond),
        staticmethod(lax.switch),
        staticmethod(lax.while_loop),
        staticmethod(lax.fori_loop),
    )
    checkpoint, jit = staticmethod(tj.checkpoint), staticmethod(tj.jit)

    def scan(self, f: Any, init: Any, xs: Any, length: int, reverse: bool) -> Any:
        return lax.scan(f, init, xs, length=length, reverse=reverse)

    def mapped(self, f: Any, x: Any) -> Any:
        axis = np.array([[0.5, 0.75]])
        return tj.vmap(lambda s, v: f(v * s[0]), in_axes=(-1, None), out_axes=-1)(axis, x).T

    def inside(self, rule: str) -> Traced:
        """What to spell a function with that gets a rule: a custom_jvp's evaluates its function again, and who
        differentiates that once more does so forwards."""
        return Traced() if rule == "with_jvp" else self

    def with_jvp(self, f: Any) -> Any:
        g = tj.custom_jvp(f)
        g.defjvp(lambda primals, tangents: (f(*primals), self.derivative(f, *primals, *tangents)))
        return g

    def with_vjp(self, f: Any) -> Any:
        if self.forward:
            return self.with_jvp(f)
        g = tj.custom_vjp(lambda scale, x: f(x) * scale, nondiff_argnums=(0,))
        g.defvjp(
            lambda scale, x: (f(x) * scale, (x, None)),
            lambda scale, res, ct: tj.vjp(f, res[0])[1](ct * scale),
        )
        return lambda x: g(1.0, x)

    def derivative(self, f: Any, x: Any, w: Any) -> Any:
        return tj.linearize(f, x)[1](w) if self.forward else tj.jacrev(f)(x) @ w


def block(rng: np.random.Generator, depth: int) -> Block:
    """A random block with structures nested up to `depth`."""
    if depth == 0:
        return LEAVES[rng.integers(len(LEAVES))](rng)
    return NODES[rng.integers(len(NODES))](rng, *(block(rng, depth - 1) for _ in range(2)))


# -- leaves: arithmetic, reductions, slices, writes


def _wave(rng: np.random.Generator) -> Block:
    c = rng.uniform(-1, 1, SIZE)
    return lambda L, x: np.sin(x * 1.3 + c) * 0.8 + x * c


def _ratio(rng: np.random.Generator) -> Block:
    c = float(rng.uniform(0.5, 1.5))
    return lambda L, x: (x + c) / (1.0 + x * x) + np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.2 * x)


def _sums(rng: np.random.Generator) -> Block:
    c = float(rng.uniform(-0.5, 0.5))
    return lambda L, x: np.tanh(x) + c * np.sum(x * x[::-1]) + 0.1 * np.cumsum(x) - 0.1 * x.max()


def _writes(rng: np.random.Generator) -> Block:
    i, j = (int(n) for n in rng.integers(-SIZE, SIZE, 2))

    def run(L: Any, x: Any) -> Any:
        y = np.zeros_like(x)
        y[i] += np.cos(x[j])
        y[1:] += 0.5 * x[:-1]
        view = y[::-1]
        view[:2] *= x[1:]
        y[j] = y[j] + x[i] * x[j]
        return np.tanh(y)

    return run


def _products(rng: np.random.Generator) -> Block:
    m = rng.uniform(-0.7, 0.7, (SIZE, SIZE))
    return lambda L, x: np.tanh(m @ x) + (np.outer(x, x) * m).sum(axis=0) * 0.3


def _given(rng: np.random.Generator) -> Block:
    return [lambda L, x: x, lambda L, x: x * 0.5 + 1.0, lambda L, x: np.full(SIZE, 0.3)][rng.integers(3)]


LEAVES = [_wave, _ratio, _sums, _writes, _products, _given]


# -- structures


def _then(rng: np.random.Generator, a: Block, b: Block) -> Block:
    return lambda L, x: b(L, a(L, x)) + 0.1 * x


def _cond(rng: np.random.Generator, a: Block, b: Block) -> Block:
    c, which = float(rng.uniform(-0.5, 1)), int(rng.integers(SIZE))
    return lambda L, x: L.cond(x[which] > c, lambda v: a(L, v), lambda v: b(L, v) * x, x * 0.9)


def _switch(rng: np.random.Generator, a: Block, b: Block) -> Block:
    def run(L: Any, x: Any) -> Any:
        index = (x[0] > 0.1).astype(int) + (x[1] > 0.3).astype(int) * 2 - 1
        return L.switch(index, [lambda v: a(L, v), lambda v: b(L, v), lambda v: v * x], np.tanh(x))

    return run


def _while(rng: np.random.Generator, a: Block, b: Block) -> Block:
    most, limit = int(rng.integers(0, 4)), float(rng.uniform(0, 3))

    def run(L: Any, x: Any) -> Any:
        def more(c: Any) -> Any:
            return (c["i"] < most) & (np.sum(np.abs(c["v"])) > limit)

        def step(c: Any) -> Any:
            return {"i": c["i"] + 1, "v": 0.6 * np.tanh(a(L, c["v"])) + 0.1 * x}

        return L.while_loop(more, step, {"i": 0, "v": x * 1.5})["v"]

    return run


def _fori(rng: np.random.Generator, a: Block, b: Block) -> Block:
    lower, upper = int(rng.integers(-1, 2)), int(rng.integers(-1, 4))
    traced = bool(rng.integers(2))

    def run(L: Any, x: Any) -> Any:
        n = (x[0] > 0.2).astype(int) + lower if traced else lower

        def body(i: Any, v: Any) -> Any:
            return np.tanh(a(L, v)) * (1.0 + 0.1 * i) + 0.2 * x

        return L.fori_loop(n, upper, body, x)

    return run


def _extents(rng: np.random.Generator, a: Block, b: Block) -> Block:
    m = rng.uniform(-0.6, 0.6, (SIZE, SIZE))

    def run(L: Any, x: Any) -> Any:
        def row(i: Any, v: Any) -> Any:
            v[i] += np.sum(m[i, :i] * v[:i]) * x[i]
            return v

        return L.fori_loop(0, SIZE, row, np.tanh(a(L, x)))

    return run


def _triangle(rng: np.random.Generator, a: Block, b: Block) -> Block:
    def run(L: Any, x: Any) -> Any:
        def row(i: Any, out: Any) -> Any:
            def column(j: Any, out: Any) -> Any:
                out[i, j] = np.tanh(x[i] * x[j] - np.sum(out[i, :j] * out[j, :j])) * 0.7
                return out

            return L.fori_loop(0, i + 1, column, out)

        return L.fori_loop(0, SIZE, row, np.zeros((SIZE, SIZE))).sum(axis=1) + a(L, x) * 0.1

    return run


def _scan(rng: np.random.Generator, a: Block, b: Block) -> Block:
    length, reverse = int(rng.choice([0, 1, SIZE])), bool(rng.integers(2))
    with_xs = bool(rng.integers(2))

    def run(L: Any, x: Any) -> Any:
        def step(c: Carry, row: Any) -> Any:
            v = np.tanh(a(L, c.value)) + (0.3 * row[0] if with_xs else 0.3 * x)
            return Carry(v, None, c.late * 0.5 + c.value[0]), (np.sin(v) * c.late, None)

        xs = (np.outer(x[:length], x), None) if with_xs else None
        last, ys = L.scan(step, Carry(x, None, np.float64(0.5)), xs, length, reverse)
        rows = [y[0] for y in ys] if isinstance(ys, list) else [ys[0][n] for n in range(length)]
        return last.value + last.late + sum((0.2 * (n + 1) * r for n, r in enumerate(rows)), np.zeros(SIZE))

    return run


def _rules(rng: np.random.Generator, a: Block, b: Block) -> Block:
    which = str(rng.choice(["with_jvp", "with_vjp", "checkpoint", "jit"]))

    def run(L: Any, x: Any) -> Any:
        scale, inner = np.cos(x[0]), L.inside(which)
        return getattr(L, which)(lambda v: np.tanh(a(inner, v)) * (0.4 if which[:4] == "with" else scale))(x)

    return run


def _closing(rng: np.random.Generator, a: Block, b: Block) -> Block:
    """A custom rule that closes over tracers: its derivative is that of its arguments alone."""

    def run(L: Any, x: Any) -> Any:
        scale = (
            np.cos(np.arange(SIZE))
            if isinstance(L, Unrolled)
            else np.cos(lax.stop_gradient(x) * 0.0 + np.arange(SIZE))
        )
        inner = L.inside("with_jvp")
        return L.with_jvp(lambda v: a(inner, v) * scale)(x) + L.checkpoint(lambda v: b(L, v) * x)(x * 0.5)

    return run


def _mapped(rng: np.random.Generator, a: Block, b: Block) -> Block:
    def run(L: Any, x: Any) -> Any:
        first, second = L.mapped(lambda v: a(L, v) + x, x)
        return np.tanh(first) - 0.3 * second

    return run


def _derivative(rng: np.random.Generator, a: Block, b: Block) -> Block:
    w = rng.uniform(-1, 1, SIZE)
    return lambda L, x: np.tanh(L.derivative(lambda v: a(L, v) * x, x, w))


NODES = [
    _then,
    _cond,
    _switch,
    _while,
    _fori,
    _extents,
    _triangle,
    _scan,
    _rules,
    _rules,
    _closing,
    _mapped,
    _derivative,
]
