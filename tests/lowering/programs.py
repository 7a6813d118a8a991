"""Random programs over the real ops, with nested regions, for comparing native code with evaluation."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.control.structured.branches import switch
from tracejit.control.structured.loops import scan, while_loop
from tracejit.ops.building.dims import dims_of
from tracejit.tracing import unbox, wrap

_SHAPES = [(), (1,), (4,), (3, 4), (4, 3), (1, 4), (2, 3, 4), (12,), (3, 1)]


class Maker:
    """Applies `steps` random ops to values; the choices are those of `seed`."""

    def __init__(self, seed: int, steps: int, depth: int = 0) -> None:
        self.seed = seed
        self.steps = steps
        self.depth = depth

    def __call__(self, *xs: Any) -> list[Any]:
        self.random = random.Random(self.seed)
        self.values = list(xs)
        for _ in range(self.steps):
            self.values += self.step()
        count = self.random.randint(1, 3)
        return [self.pick() for _ in range(count)]

    def pick(self, ok: Callable[[Any], bool] = lambda shape: True) -> Any:
        """A value whose shape is `ok`; recent ones more often."""
        found = [v for v in self.values if ok(dims_of(v))]
        if not found:
            return self.values[0]
        return self.random.choice(found[-6:] if self.random.random() < 0.7 else found)

    def step(self) -> list[Any]:
        choice = self.random.choice(self.kinds())
        out = choice(self.pick())
        return out if isinstance(out, list) else [out]

    def kinds(self) -> list[Callable[[Any], Any]]:
        simple = [
            self.unary,
            self.binary,
            self.binary,
            self.binary,
            self.view,
            self.view,
            self.reduce,
            self.update,
        ]
        simple += [self.broadcast, self.index, self.cumulative, self.join, self.product]
        return simple + ([self.scan, self.cond, self.while_] if self.depth < 2 else [])

    # -- one op each

    def unary(self, x: Any) -> Any:
        fn = self.random.choice(["sin", "neg", "tanh", "exp", "square", "abs"])
        if fn == "exp":
            return ops.transcendental.exp(ops.transcendental.sin(x))
        return getattr(ops.transcendental if fn in ("sin", "tanh") else ops.arithmetic, fn)(x)

    def binary(self, x: Any) -> Any:
        shape = dims_of(x)
        y = self.pick(lambda s: s == shape or s == ())
        x, y = self.random.sample([x, y], 2)
        fn = self.random.choice(["add", "sub", "mul", "maximum", "where"])
        if fn == "where":
            return ops.compare.select(ops.compare.lt(x, y), self.full(x, shape), self.full(y, shape))
        return self.tame(getattr(ops.arithmetic, fn)(x, y))

    def full(self, x: Any, shape: Any) -> Any:
        return ops.shape.broadcast_to(x, shape) if dims_of(x) != shape and dims_of(x) == () else x

    def tame(self, x: Any) -> Any:
        return ops.transcendental.tanh(x) if self.random.random() < 0.3 else x

    def view(self, x: Any) -> Any:
        shape = dims_of(x)
        if not shape:
            return ops.shape.expand_dims(x, (0,))
        kind = self.random.choice(["transpose", "reshape", "rev", "slice", "squeeze", "expand"])
        axis = self.random.randrange(len(shape))
        if kind == "transpose":
            return ops.shape.transpose(x, permutation=self.random.sample(range(len(shape)), len(shape)))
        if kind == "reshape":
            n = int(np.prod(shape))
            fits = [s for s in [*_SHAPES, (n,), (2, n // 2), (n, 1)] if int(np.prod(s)) == n]
            return ops.shape.reshape(x, shape=self.random.choice(fits))
        if kind == "rev":
            return ops.shape.rev(x, dimensions=(axis,))
        if kind == "expand":
            return ops.shape.expand_dims(x, (axis,)) if len(shape) < 3 else x
        if kind == "squeeze":
            return ops.shape.squeeze(x, dimensions=[n for n, d in enumerate(shape) if d == 1])
        lo = [self.random.randrange(d) for d in shape]
        hi = [self.random.randint(b + 1, d) for b, d in zip(lo, shape, strict=True)]
        steps = [self.random.choice([1, 1, 2]) for _ in shape]
        return ops.slices.slice(x, start_indices=lo, limit_indices=hi, strides=steps)

    def broadcast(self, x: Any) -> Any:
        shape = dims_of(x)
        fits = [
            s
            for s in _SHAPES
            if len(s) >= len(shape) and all(a in (1, b) for a, b in zip(shape[::-1], s[::-1], strict=False))
        ]
        return ops.shape.broadcast_to(x, self.random.choice(fits)) if fits else x

    def reduce(self, x: Any) -> Any:
        shape = dims_of(x)
        axes = tuple(n for n in range(len(shape)) if self.random.random() < 0.6)
        name = self.random.choice(["reduce_sum", "reduce_sum", "reduce_max", "reduce_min", "argmax"])
        if name == "argmax":
            return (
                ops.create.convert_element_type(ops.reduce.argmax(x, axes=axes[:1] or (0,)), dtype=np.float64)
                if shape
                else x
            )
        return getattr(ops.reduce, name)(x, axes=axes) if axes else x

    def cumulative(self, x: Any) -> Any:
        shape = dims_of(x)
        if not shape:
            return x
        axis = self.random.randrange(len(shape))
        return ops.cumulative.cumsum(x, axis=axis, reverse=self.random.random() < 0.5)

    def join(self, x: Any) -> Any:
        shape = dims_of(x)
        if not shape:
            return (
                ops.concat.concatenate(
                    *(ops.shape.expand_dims(self.pick(lambda s: s == ()), (0,)) for _ in range(1)),
                    ops.shape.expand_dims(x, (0,)),
                    dimension=0,
                )
                if dims_of(self.values[0]) == ()
                else x
            )
        if self.random.random() < 0.3:
            config = [
                (self.random.randint(-1, 2) if d > 1 else 1, 1, self.random.randint(0, 1)) for d in shape
            ]
            return self.small(ops.concat.pad(x, 0.5, padding_config=config))
        y = self.pick(lambda s: s == shape)
        return self.small(
            ops.concat.concatenate(
                x, y if dims_of(y) == shape else x, dimension=self.random.randrange(len(shape))
            )
        )

    def small(self, x: Any) -> Any:
        while int(np.prod(dims_of(x))) > 60:
            shape = dims_of(x)
            n = max(range(len(shape)), key=shape.__getitem__)
            x = ops.slices.slice(
                x,
                start_indices=[0] * len(shape),
                limit_indices=[(d // 2 + 1 if d > 2 else 1) if a == n else d for a, d in enumerate(shape)],
            )
        return x

    def position(self, size: int) -> Any:
        """An index: constant or computed."""
        if self.random.random() < 0.5:
            return np.int64(self.random.randrange(size))
        i = ops.create.convert_element_type(ops.arithmetic.abs(self.scalar()), dtype=np.int64)
        return ops.compare.clamp(i, np.int64(0), np.int64(size - 1))

    def scalar(self) -> Any:
        x = self.pick(lambda s: s == ())
        return x if dims_of(x) == () else ops.reduce.reduce_max(x, axes=tuple(range(len(dims_of(x)))))

    def index(self, x: Any) -> Any:
        shape = dims_of(x)
        sizes = [self.random.randint(1, d) for d in shape]
        return ops.index.dynamic_slice(x, *(self.position(d) for d in shape), sizes=sizes) if shape else x

    def update(self, x: Any) -> Any:
        shape = dims_of(x)
        if not shape:
            return x
        u = self.pick(lambda s: len(s) == len(shape) and all(a <= b for a, b in zip(s, shape, strict=True)))
        if len(dims_of(u)) != len(shape) or any(a > b for a, b in zip(dims_of(u), shape, strict=True)):
            u = ops.shape.broadcast_to(self.scalar(), (1,) * len(shape))
        name = self.random.choice(["dynamic_update_slice", "dynamic_update_slice", "dynamic_slice_add"])
        fn = getattr(ops.index, name, ops.index.dynamic_update_slice)
        return fn(x, u, *(self.position(d) for d in shape))

    def product(self, x: Any) -> Any:
        shape = dims_of(x)
        if not shape:
            return x
        y = self.pick(lambda s: bool(set(s) & set(shape)))
        common = [(a, b) for a, d in enumerate(shape) for b, e in enumerate(dims_of(y)) if d == e]
        if not common:
            return x
        a, b = self.random.choice(common)
        out = ops.linalg.dot_general(x, y, dimension_numbers=(((a,), (b,)), ((), ())))
        return self.small(ops.transcendental.tanh(out)) if len(dims_of(out)) < 4 else x

    # -- regions

    def inner(self) -> Maker:
        return Maker(self.random.randrange(10**9), self.random.randint(1, 5), self.depth + 1)

    def like(self, x: Any, shape: Any) -> Any:
        """A value of `shape` that depends on x."""
        if dims_of(x) == shape:
            return x
        return self.full(
            ops.transcendental.tanh(ops.reduce.reduce_sum(x, axes=tuple(range(len(dims_of(x)))))), shape
        )

    def cond(self, x: Any) -> Any:
        operands = [x, *(self.pick() for _ in range(self.random.randint(0, 2)))]
        shape = dims_of(self.pick())
        bodies = [self.inner() for _ in range(self.random.choice([2, 2, 3]))]
        starts = [self.random.random() < 0.4 for _ in bodies]

        def branch(n: int) -> Callable[..., Any]:
            def run(*args: Any) -> Any:
                raw = unboxed(args)
                if starts[n]:
                    return boxed([self.like(raw[0], shape), self.like(raw[-1], shape)])
                return boxed([self.like(bodies[n](*raw)[0], shape), self.like(raw[-1], shape)])

            return run

        index = self.position(len(bodies))
        return unboxed(switch(boxed([index])[0], [branch(n) for n in range(len(bodies))], *boxed(operands)))

    def scan(self, x: Any) -> Any:
        carry = [x, *(self.pick() for _ in range(self.random.randint(0, 2)))]
        consts = [self.pick() for _ in range(self.random.randint(0, 2))]
        body = self.inner()
        length = self.random.choice([0, 1, 3, 4])
        xs = (
            [self.full(self.scalar(), (length,))]
            if self.random.random() < 0.6 or length == 0
            else [self.iota(length)]
        )
        shapes = [dims_of(c) for c in carry]
        order = self.random.sample(range(len(carry)), len(carry))
        keep = self.random.random() < 0.3

        def step(c: Any, t: Any) -> Any:
            c, t = unboxed(c), unboxed([t])[0]
            outs = body(*c, *consts, t)
            new = [self.like(outs[n % len(outs)] if n == 0 else c[order[n]], s) for n, s in enumerate(shapes)]
            if keep:
                new[-1] = c[-1]
            return boxed(new), boxed([outs[-1]])[0]

        reverse = self.random.random() < 0.3
        out, ys = scan(step, boxed(carry), boxed(xs)[0], length=length, reverse=reverse)
        return [*unboxed(out), *([self.small(y) for y in unboxed([ys])] if length else [])]

    def iota(self, n: int) -> Any:
        return ops.create.convert_element_type(
            ops.create.iota(shape=(n,), dtype=np.dtype(np.int64), dimension=0), dtype=np.float64
        )

    def while_(self, x: Any) -> Any:
        carry = [x, *(self.pick() for _ in range(self.random.randint(0, 1)))]
        body = self.inner()
        shapes = [dims_of(c) for c in carry]
        trips = np.int64(self.random.choice([0, 1, 3]))

        def step(c: Any) -> Any:
            i, *rest = unboxed(c)
            outs = body(*rest)
            new = [self.like(outs[-1 - n] if n < len(outs) else rest[n], s) for n, s in enumerate(shapes)]
            return boxed([ops.arithmetic.add(i, np.int64(1)), *new])

        out = while_loop(
            lambda c: boxed([ops.compare.lt(unboxed(c)[0], trips)])[0], step, boxed([np.int64(0), *carry])
        )
        return unboxed(out)[1:]


def boxed(xs: Any) -> list[Any]:
    return [wrap(x) for x in xs]


def unboxed(xs: Any) -> list[Any]:
    return [unbox(x) for x in xs]
