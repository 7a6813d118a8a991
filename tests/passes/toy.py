"""A few ops, an evaluator and a random program generator: what the passes are tested on.

The ops leave the registry at once, so that tests of the real ops never meet them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.avals import Aval, Dim
from tracejit.ir.check import OperandRef, apply_type_rule, check_jaxpr
from tracejit.ir.jaxpr import Eqn, Jaxpr, Literal, Var, effects_of, sub_jaxprs
from tracejit.ir.kernel import (
    CallRegion,
    CondRegion,
    Kernel,
    NoKernel,
    Opaque,
    Pointwise,
    Pull,
    Reduce,
    ScanRegion,
    WhileRegion,
)
from tracejit.ir.primitive import (
    FROM_JVP,
    LINEAR,
    NO_BOUNDS,
    NO_EFFECTS,
    NO_IDENTITIES,
    NO_INPLACE,
    NONLINEAR,
    REGISTRY,
    Op,
)


def f64(*shape: Any) -> Aval:
    return Aval(shape, np.dtype(np.float64))


def i64(*shape: Any) -> Aval:
    return Aval(shape, np.dtype(np.int64))


def op(name: str, type: Any, eval: Any, kernel: Kernel, **slots: Any) -> Op:
    record = Op(
        name=f"toy_{name}",
        doc="",
        type=type,
        eval=eval,
        kernel=kernel,
        **{
            "multi": False,
            "inplace": NO_INPLACE,
            "jvp": LINEAR,
            "linearize": FROM_JVP,
            "transpose": NONLINEAR,
            "batch": None,
            "simplify": NO_IDENTITIES,
            "effects": NO_EFFECTS,
            "bounds": NO_BOUNDS,
            **slots,
        },
    )
    del REGISTRY[record.name]
    return record


def _widest(*avals: Aval) -> Aval:
    return max(avals, key=lambda a: a.ndim)


def _x_plus_zero(eqn: Any) -> Any:
    # Not -0.0's identity under strict rules, but a toy.
    return eqn.invars[0] if eqn.literal(1) == 0.0 else None


def _double_neg(eqn: Any) -> Any:
    inner = eqn.maker(0)
    return inner.invars[0] if inner is not None and inner.op is neg else None


def _square(eqn: Any) -> Any:
    return ("op", square, eqn.invars[:1], {}) if eqn.invars[0] is eqn.invars[1] else None


def _plain(*_: Any) -> Any:
    raise AssertionError("kernels are not run here")


add = op("add", _widest, np.add, Pointwise(_plain), simplify=(_x_plus_zero,))
sub = op("sub", _widest, np.subtract, Pointwise(_plain))
mul = op("mul", _widest, np.multiply, Pointwise(_plain), simplify=(_square,))
square = op("square", lambda a: a, np.square, Pointwise(_plain))
neg = op("neg", lambda a: a, np.negative, Pointwise(_plain), simplify=(_double_neg,))
sin = op("sin", lambda a: a, np.sin, Pointwise(_plain, cost=20))
total = op("total", lambda a: f64(), np.sum, Reduce(_plain, _plain, _plain, "sum"))
broadcast = op(
    "broadcast",
    lambda a, *, shape: Aval(shape, a.dtype),
    lambda x, *, shape: np.broadcast_to(x, shape),
    Pull(_plain),
)
lt = op("lt", lambda a, b: a.with_dtype(np.dtype(bool)), np.less, Pointwise(_plain))
library = op("library", lambda a: a, lambda a: np.tanh(a), Opaque())
ranged = op(
    "ranged",
    lambda n, *, bound: i64(Dim(OperandRef(0), bound)),
    lambda n, *, bound: np.arange(n),
    Pull(_plain),
)
log: list[Any] = []
say = op(
    "say",
    lambda a: a,
    lambda a: log.append(np.array(a)) or a,
    NoKernel("a test"),
    effects=lambda params: frozenset({"ordered"}),
)


def _sub_effects(params: dict[str, Any]) -> frozenset[str]:
    return frozenset().union(*(j.effects for j in sub_jaxprs(params)))


def run(jaxpr: Jaxpr, *args: Any) -> list[Any]:
    """The value of `jaxpr`, by its ops' eval."""
    env: dict[Any, Any] = dict(zip(jaxpr.invars, args, strict=True))

    def read(a: Any) -> Any:
        return a.value if isinstance(a, Literal) else env[a]

    for eqn in jaxpr.eqns:
        out = eqn.op.eval(*map(read, eqn.invars), **eqn.params)
        env.update(zip(eqn.outvars, out if eqn.op.multi else [out], strict=True))
    return [read(a) for a in jaxpr.outs]


def _eval_while(*args: Any, cond: Jaxpr, body: Jaxpr, cond_consts: int, body_consts: int) -> list[Any]:
    consts, args = args[:cond_consts], args[cond_consts:]
    bconsts, carry = args[:body_consts], list(args[body_consts:])
    while run(cond, *consts, *carry)[0]:
        carry = run(body, *bconsts, *carry)
    return carry


def _eval_scan(
    *args: Any, jaxpr: Jaxpr, length: int | None, bound: Any, consts: int, carry: int, reverse: bool
):
    n = int(args[0]) if length is None else length
    args = args[1:] if length is None else args
    fixed, state, xs = args[:consts], list(args[consts : consts + carry]), args[consts + carry :]
    ys: list[Any] = [None] * n
    for i in reversed(range(n)) if reverse else range(n):
        out = run(jaxpr, np.int64(i), *fixed, *state, *(x[i] for x in xs))
        state, ys[i] = out[:carry], out[carry:]
    avals = jaxpr.out_avals[carry:]
    columns = zip(*ys, strict=True) if n else [()] * len(avals)
    return state + [np.array(c).reshape(n, *a.shape) for c, a in zip(columns, avals, strict=True)]


def _scan_type(*avals: Aval, jaxpr: Jaxpr, length: Any, bound: Any, consts: int, carry: int, reverse: bool):
    lead = Dim(OperandRef(0), bound) if length is None else length
    ys = [a.with_shape((lead, *a.shape)) for a in jaxpr.out_avals[carry:]]
    return jaxpr.out_avals[:carry] + ys


_regions = {"multi": True, "effects": _sub_effects}
call = op(
    "call",
    lambda *avals, jaxpr: jaxpr.out_avals,
    lambda *args, jaxpr: run(jaxpr, *args),
    CallRegion(),
    **_regions,
)
cond = op(
    "cond",
    lambda i, *avals, branches: branches[0].out_avals,
    lambda i, *args, branches: run(branches[int(i)], *args),
    CondRegion(),
    **_regions,
)
while_ = op(
    "while",
    lambda *avals, cond, body, cond_consts, body_consts: body.out_avals,
    _eval_while,
    WhileRegion(),
    **_regions,
)
scan = op("scan", _scan_type, _eval_scan, ScanRegion(), **_regions)


class B:
    """A jaxpr builder: `b = B(f64(3)); y = b(add, b[0], 1.0); b.done(y)`."""

    def __init__(self, *avals: Aval) -> None:
        self.invars = tuple(Var(None, a) for a in avals)
        self.eqns: list[Eqn] = []

    def __getitem__(self, n: int) -> Var:
        return self.invars[n]

    def __call__(self, op: Op, *args: Any, **params: Any) -> Any:
        atoms = tuple(map(atom, args))
        outs = tuple(Var(None, t) for t in apply_type_rule(op, atoms, params))
        self.eqns.append(Eqn(op, atoms, outs, params, None, effects_of(op, params)))
        return outs if op.multi else outs[0]

    def done(self, *outs: Any) -> Jaxpr:
        jaxpr = Jaxpr(self.invars, tuple(self.eqns), tuple(map(atom, outs)))
        check_jaxpr(jaxpr)
        return jaxpr


def atom(x: Any) -> Any:
    return x if isinstance(x, (Var, Literal)) else Literal(np.asarray(x)[()])


def names(jaxpr: Jaxpr) -> list[str]:
    """The ops of `jaxpr`, without the prefix."""
    return [e.op.name.removeprefix("toy_") for e in jaxpr.eqns]


def agree(a: Jaxpr, b: Jaxpr, *args: Any) -> None:
    """Assert that both give the same bits, and that `b` typechecks."""
    check_jaxpr(b)
    for x, y in zip(run(a, *args), run(b, *args), strict=True):
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y), strict=True)
