"""Checks of whole records: type against eval, batching against a loop, kernel against eval, in-place form."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tests.ops.running import Machine
from tracejit import dtypes
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.check import apply_type_rule
from tracejit.ir.jaxpr import Literal
from tracejit.ir.kernel import Pull, Update
from tracejit.ir.primitive import NO_INPLACE

# ---------------------------------------------------------------- kernels on arrays


class Operand:
    """An operand of a kernel form, over an array; read with arrays of indices."""

    def __init__(self, machine: Machine, x: np.ndarray, aval: Aval) -> None:
        self.machine, self.x, self.aval = machine, x, aval
        self.shape, self.dtype = aval.shape, aval.dtype

    def extent(self, axis: int) -> Any:
        return self.aval.shape[axis]

    def __getitem__(self, idx: Any) -> Any:
        assert isinstance(idx, tuple) and len(idx) == self.x.ndim
        at = [self.machine.value(i) for i in idx]
        for i, n in zip(at, self.x.shape, strict=True):
            assert np.all((i >= 0) & (i < n)), f"reads {i} of {n}"
        return self.machine.input(np.asarray(self.x[tuple(at)]))


def run_pull(op: Any, args: Any, out: Aval, params: dict[str, Any]) -> np.ndarray:
    """The result of a Pull kernel, all elements at once."""
    machine = Machine()
    operands = [Operand(machine, np.asarray(x), aval_of(x)) for x in args]
    idx = tuple(machine.input(i.astype(np.int64)) for i in np.indices(out.shape))
    target = Operand(machine, np.empty(out.shape), out)
    value = machine.value(op.kernel.fn(machine.k, idx, operands, target, **params))
    return np.broadcast_to(value, out.shape)


def run_update(op: Any, args: Any, out: Aval, params: dict[str, Any]) -> np.ndarray:
    """The result of an Update kernel, element after element."""
    base = op.kernel.base(params)
    if base is None:
        result = np.full(out.shape, -77).astype(out.dtype)
    elif isinstance(base, tuple):
        result = np.full(out.shape, args[base[1]], out.dtype)
    else:
        result = np.array(args[base])
    for segment in op.kernel.segments(params, [aval_of(x) for x in args], out):
        machine = Machine()
        operands = [Operand(machine, np.asarray(x), aval_of(x)) for x in args]
        source = np.asarray(args[segment.source])
        idx = tuple(machine.input(i.astype(np.int64)) for i in np.indices(source.shape))
        at, inside = segment.place(machine.k, idx, operands, Operand(machine, result, out))
        places = [np.broadcast_to(machine.value(i), source.shape) for i in at]
        keep = np.broadcast_to(True if inside is None else machine.value(inside), source.shape)
        for n in np.ndindex(source.shape):
            if keep[n]:
                place = tuple(int(p[n]) for p in places)
                assert all(0 <= p < d for p, d in zip(place, out.shape, strict=True)), f"writes {place}"
                result[place] = _combined(segment.combine, result[place], source[n])
    return result


def _combined(combine: Any, old: Any, new: Any) -> Any:
    if combine is None:
        return new
    machine = Machine()
    return machine.value(combine(machine.k, machine.input(np.asarray(old)), machine.input(np.asarray(new))))


# ---------------------------------------------------------------- the checks


def same(a: Any, b: Any, exact: bool = True) -> None:
    """Equal dtypes, shapes and values (NaN included)."""
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype, (a.dtype, b.dtype)
    assert a.shape == b.shape, (a.shape, b.shape)
    if a.dtype == dtypes.bfloat16:
        a, b = a.astype(np.float32), b.astype(np.float32)
    if exact:
        np.testing.assert_array_equal(a, b)
    else:
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def check_record(op: Any, args: Any, params: dict[str, Any], expected: Any = None, exact: bool = True) -> Any:
    """Everything about one application of `op` but its derivatives; gives the result."""
    args = [np.asarray(a) for a in args]
    before = [a.copy() for a in args]
    out = op.eval(*args, **params)
    outs = list(out) if op.multi else [out]
    types = apply_type_rule(op, [Literal(a) for a in args], params)
    for o, t in zip(outs, types, strict=True):
        assert aval_of(o) == t, (aval_of(o), t)
    if expected is not None:
        for o, e in zip(outs, expected if op.multi else [expected], strict=True):
            same(o, e, exact)
    if isinstance(op.kernel, Pull) and types[0].size:
        same(run_pull(op, args, types[0], params), out)
    if isinstance(op.kernel, Update):
        same(run_update(op, args, types[0], params), out, exact)
    if op.inplace is not NO_INPLACE:
        x = np.array(args[0])
        assert op.inplace(x, *args[1:], **params) is x
        same(x, out)
    for a, b in zip(args, before, strict=True):
        same(a, b)
    return out


def vary(x: Any, n: int) -> np.ndarray:
    """An array like `x` with other values of the same kind."""
    x = np.asarray(x)
    if x.dtype.kind == "b":
        return np.roll(x, n) ^ bool(n % 2)
    if x.dtype.kind in "iu":
        return np.roll(x, n)
    return (x * (n + 1) + n).astype(x.dtype)


def check_batch(op: Any, args: Any, params: dict[str, Any], fixed: Any = (), exact: bool = True) -> None:
    """The batch rule against a loop, for every choice of batched operands but `fixed` ones."""
    args = [np.asarray(a) for a in args]
    free = [n for n in range(len(args)) if n not in fixed]
    size = 3
    for chosen in itertools.chain.from_iterable(
        itertools.combinations(free, r) for r in range(1, len(free) + 1)
    ):
        for last in (False, True):
            _check_batch_at(op, args, params, chosen, last, size, exact)


def _check_batch_at(op: Any, args: Any, params: Any, chosen: Any, last: bool, size: int, exact: bool) -> None:
    dims = [(a.ndim if last else min(n % 2, a.ndim)) if n in chosen else None for n, a in enumerate(args)]
    lanes = [
        [vary(a, i) if d is not None else a for a, d in zip(args, dims, strict=True)] for i in range(size)
    ]
    stacked = [
        a if d is None else np.stack([lane[n] for lane in lanes], d)
        for n, (a, d) in enumerate(zip(args, dims, strict=True))
    ]
    out, out_dim = op.batch(size, tuple(stacked), tuple(dims), **params)
    want = [op.eval(*lane, **params) for lane in lanes]
    outs, out_dims = (out, out_dim) if op.multi else ([out], [out_dim])
    wants = list(zip(*want, strict=True)) if op.multi else [want]
    for o, d, w in zip(outs, out_dims, wants, strict=True):
        same(np.moveaxis(o, d, 0), np.stack(w), exact)
