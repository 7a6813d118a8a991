"""A reference interpreter of scalar kernel code: every register is an array, one element a point."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.ir.kernel import Unsupported
from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.loops.nodes import Call, Const, Pair

__all__ = ["Unsupported", "run_pointwise", "run_reduce"]

_MATH = {
    "pow": np.power,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "erf": np.vectorize(math.erf, otypes=[float]),
}
_C = {"c:fmod": np.fmod, "c:fmodf": np.fmod}  # functions of the C library
_FLOAT = {
    "fadd": np.add,
    "fsub": np.subtract,
    "fmul": np.multiply,
    "fdiv": np.divide,
    "fneg": np.negative,
    "fabs": np.abs,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
    "copysign": np.copysign,
    "fmaximum": np.maximum,
    "fminimum": np.minimum,
}
_INT = {
    "iadd": np.add,
    "isub": np.subtract,
    "imul": np.multiply,
    "smax": np.maximum,
    "umax": np.maximum,
    "smin": np.minimum,
    "umin": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "popcount": np.bitwise_count,
    "clz": np.vectorize(lambda x: 8 * x.itemsize - int(x).bit_length(), otypes=[int]),
    "ctz": np.vectorize(lambda x: (int(x) & -int(x)).bit_length() - 1 if x else 8 * x.itemsize, otypes=[int]),
}
_COMPARE = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def _fma(a: Any, b: Any, c: Any) -> Any:
    def one(x: float, y: float, z: float) -> float:
        if not all(map(math.isfinite, (x, y, z))):
            return float(np.float64(x) * np.float64(y) + np.float64(z))
        try:
            return float(Fraction(x) * Fraction(y) + Fraction(z))
        except OverflowError:
            return float(np.float64(x) * np.float64(y) + np.float64(z))

    a, b, c = np.broadcast_arrays(a, b, c)
    return np.vectorize(one, otypes=[float])(a.astype(float), b.astype(float), c.astype(float)).astype(
        a.dtype
    )


def _divide(op: str, x: Any, y: Any) -> Any:
    assert not np.any(y == 0), "integer division by zero traps"
    if op[0] == "s":
        low = np.iinfo(x.dtype).min
        assert not np.any((x == low) & (y == -1)), "INT_MIN / -1 traps"
    r = np.fmod(x, y)
    return r if op.endswith("rem") else ((x - r) // y).astype(x.dtype)


def _shift(op: str, x: Any, n: Any) -> Any:
    assert np.all((n >= 0) & (n < 8 * x.dtype.itemsize)), "a shift by the width is undefined"
    return np.left_shift(x, n) if op == "shl" else np.right_shift(x, n)


class Failed(Exception):
    """An index outside: itself and the size."""

    def __init__(self, *details: int) -> None:
        self.details = details


def _located(i: np.ndarray, size: np.ndarray, wraps: bool) -> np.ndarray:
    bad = (i >= size) | (i < (-size if wraps else 0))
    if bad.any():
        raise Failed(int(i[bad][0]), int(size[bad][0]))
    return i % size


class Machine:
    """Runs the instructions a builder has recorded."""

    def __init__(self) -> None:
        self.k = Builder()
        self.env: dict[int, Any] = {}
        self._done = 0

    def input(self, x: np.ndarray) -> Any:
        if x.dtype.kind == "c":
            return self.k.pair(self.input(x.real.copy()), self.input(x.imag.copy()))
        reg = self.k.reg(x.dtype)
        self.env[reg.id] = x
        return reg

    def value(self, x: Any) -> Any:
        stmts = self.k.block.stmts
        with np.errstate(all="ignore"):
            while self._done < len(stmts):
                self._run(stmts[self._done])
                self._done += 1
        if isinstance(x, Pair):
            re, im = np.broadcast_arrays(self.value(x.re), self.value(x.im))
            out = np.empty(re.shape, x.dtype)
            out.real, out.imag = re, im
            return out
        return self._read(x)

    def _read(self, a: Any) -> Any:
        return np.asarray(a.value, a.dtype) if isinstance(a, Const) else self.env[a.id]

    def _run(self, inst: Any) -> None:
        xs = [self._read(a) for a in inst.args]
        if isinstance(inst, Call):
            self.env[inst.out.id] = np.asarray(_C[inst.target.name](*xs)).astype(inst.out.dtype)
            return
        if inst.op in _FLOAT or inst.op in _INT:
            out = (_FLOAT if inst.op in _FLOAT else _INT)[inst.op](*xs)
            if inst.op in _FLOAT:
                assert dtypes.is_float(inst.out.dtype), inst
            assert all(a.dtype == inst.out.dtype for a in inst.args), inst
        elif inst.op == "fma":
            out = _fma(*xs)
        elif inst.op in ("sdiv", "srem", "udiv", "urem"):
            out = _divide(inst.op, *xs)
        elif inst.op in ("shl", "ashr", "lshr"):
            out = _shift(inst.op, *xs)
        elif inst.op == "cmp":
            assert inst.args[0].dtype == inst.args[1].dtype, inst
            out = _COMPARE[inst.attr](*xs)
        elif inst.op == "select":
            assert inst.args[0].dtype == np.bool_ and inst.args[1].dtype == inst.args[2].dtype, inst
            out = np.where(*xs)
        elif inst.op == "cast":
            out = xs[0].astype(inst.out.dtype)
        elif inst.op == "index":
            out = _located(*np.broadcast_arrays(*xs), inst.attr.wraps)
        elif inst.op == "bitcast":
            out = xs[0].view(inst.out.dtype)
        else:
            assert inst.op == "math", inst
            out = _MATH.get(inst.attr, getattr(np, inst.attr, None))(*xs)
        self.env[inst.out.id] = np.asarray(out).astype(inst.out.dtype)


def run_pointwise(op: Any, *xs: Any, **params: Any) -> Any:
    """The kernel of a pointwise record on arrays. Raises Unsupported where it has none."""
    machine = Machine()
    out = op.kernel.fn(machine.k, *(machine.input(np.asarray(x)) for x in xs), **params)
    shape = np.broadcast_shapes(*(np.shape(x) for x in xs))
    return np.broadcast_to(machine.value(out), shape)


def run_reduce(op: Any, x: np.ndarray, out_dtype: Any) -> Any:
    """The kernel of a reduction over all of the 1-d `x`."""
    machine = Machine()
    k, form = machine.k, op.kernel
    state = form.init(k, x.dtype)
    for n in range(len(x)):
        state = form.step(k, state, machine.input(x[n]), machine.input(np.int64(n)))
    return machine.value(form.finish(k, state, np.dtype(out_dtype)))
