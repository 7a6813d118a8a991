"""Taylor mode: values carried with the coefficients of their power series.

Only two kinds of operations need a rule of their own: linear ones map over the coefficients, and products
convolve them. Every other y = f(x) is solved from its derivative rule: y'(t) = f'(x(t)) x'(t), where the rule
runs once, on series. Coefficients are computed when they are asked for, and that of order k + 1 needs no
more than those up to k, so that a rule may use its own result: exp(x)' = exp(x) x', sin and cos each other.

Coefficients here are those of powers of t; `api.autodiff.taylor` converts from and to derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.interpreters.autodiff.series import Coefficient, FromJvp, Given, Mapped, Product, Series
from tracejit.interpreters.closed import stage_closed
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.memo import memoize_by_jaxpr
from tracejit.interpreters.stage import jaxpr_arg_avals
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Jaxpr, Var
from tracejit.ir.kernel import CallRegion, CondRegion, ScanRegion, WhileRegion
from tracejit.ir.primitive import BILINEAR, FROM_JVP, LINEAR, ZERO_TANGENT, Op
from tracejit.ir.values import Zero
from tracejit.ops.building import helpers
from tracejit.tracing import Trace, current_trace, new_trace, use_trace


class SeriesTrace(Trace):
    """Series up to order `order` over values of the parent trace."""

    def __init__(self, parent: Trace, order: int) -> None:
        super().__init__(parent)
        self.order = order
        self._solved: dict[Any, Any] = {}  # applications so far: rules ask for their own results
        self.solving = 0

    def tracer(self, coefs: Sequence[Coefficient]) -> Any:
        """The series with these coefficients; a constant if all but the first are known to be zero."""
        if all(type(c) is Zero for c in coefs[1:]):
            return coefs[0]
        zero = Zero(aval_of(coefs[0]).tangent())
        return Series(self, coefs[0], lambda k: coefs[k] if k < len(coefs) else zero)

    def coefficients(self, x: Any) -> list[Coefficient]:
        """All coefficients of a result of this trace or of a constant."""
        return [self.coef(x, k) for k in range(self.order + 1)]

    def coef(self, x: Any, k: int) -> Coefficient:
        if self.mine(x):
            return x.coef(k)
        return x if k == 0 else Zero(aval_of(x).tangent())

    def mine(self, x: Any) -> bool:
        return type(x) is Series and x.trace is self

    def process(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        parent = self.parent
        assert parent is not None
        firsts = tuple([self.coef(a, 0) for a in args])
        with use_trace(parent):
            if not any(map(self.mine, args)) or op.jvp is ZERO_TANGENT:
                return parent.process(op, firsts, params)
            region = _REGIONS.get(type(op.kernel))
            if region is not None and op.series is FROM_JVP and _has_jaxpr(params):
                return region(self, op, args, params)
            key = _key(op, args, params)
            if key not in self._solved:
                self._solved[key] = (args, self._solve(op, args, params, firsts))
            out = self._solved[key][1]
            if not self.solving:  # outside of rules: now, so that the recursion stays shallow
                for o in out if op.multi else [out]:
                    if self.mine(o):
                        o.coef(self.order)
        return out

    def _solve(self, op: Op, args: tuple[Any, ...], params: dict[str, Any], firsts: tuple[Any, ...]) -> Any:
        assert self.parent is not None
        out = self.parent.process(op, firsts, params)
        if op.series is LINEAR:
            make: Any = Mapped(self, op, args, params)
        elif op.series is BILINEAR:
            make = Product(self, op, args, params, aval_of(out).tangent())
        elif op.series is not FROM_JVP:
            make = Given(self, op, args, params)
        else:
            make = FromJvp(self, op, args, params)
        if op.multi:
            return [Series(self, o, make.output(n)) if _inexact(o) else o for n, o in enumerate(out)]
        result = Series(self, out, make.output(0)) if _inexact(out) else out
        make.out = result
        return result


def _inexact(x: Any) -> bool:
    return dtypes.is_inexact(aval_of(x).dtype)


def _has_jaxpr(params: dict[str, Any]) -> bool:
    return params.get("jaxpr", ()) is not None


def _key(op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Equal keys: the same application."""
    ids = tuple([(a.dtype.str, a.tobytes()) if isinstance(a, np.generic) else id(a) for a in args])
    items = tuple(params.items())
    try:
        hash(items)
    except TypeError:
        items = tuple((k, id(v)) for k, v in items)
    return op, ids, items


# ---------------------------------------------------------------- functions and jaxprs


def jet_flat(
    fn: Callable[..., Sequence[Any]], coefs: Sequence[Sequence[Coefficient]], order: int
) -> list[list[Coefficient]]:
    """For `fn(*raw) -> list of raw` at series (coefficients 0 to `order`, Zeros among them): those of its
    results."""
    trace = SeriesTrace(current_trace(), order)
    ins = [trace.tracer(c) for c in coefs]
    with new_trace(trace):
        outs = fn(*ins)
        assert trace.parent is not None
        with use_trace(trace.parent):
            return [trace.coefficients(o) for o in outs]


@memoize_by_jaxpr
def jet_jaxpr(
    jaxpr: Jaxpr, order: int, series: tuple[bool, ...], force: tuple[bool, ...] | None = None
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """A jaxpr over (*inputs, *coefficients 1 to `order` of the inputs marked by `series`) that gives
    (*outputs, *those of the outputs that vary); and which outputs those are (`force`d ones are among them)."""
    avals = jaxpr_arg_avals(jaxpr)
    n = len(avals)
    varies: list[bool] = []

    def fn(*raw: Any) -> list[Any]:
        rest = iter(raw[n:])
        coefs = [
            [x, *([next(rest) for _ in range(order)] if s else ())]
            for x, s in zip(raw[:n], series, strict=True)
        ]
        outs = jet_flat(lambda *xs: eval_jaxpr(jaxpr, xs), coefs, order)
        must = force or (False,) * len(outs)
        flags = [m or any(type(c) is not Zero for c in cs[1:]) for cs, m in zip(outs, must, strict=True)]
        varies.extend(flags)
        extra = [helpers.instantiate(c) for cs, f in zip(outs, flags, strict=True) if f for c in cs[1:]]
        return [*(cs[0] for cs in outs), *extra]

    added = [a.tangent() for a, s in zip(avals, series, strict=True) if s for _ in range(order)]
    bounds = [v.bounds for v in jaxpr.invars] + [None] * len(added)
    return stage_closed(fn, [*avals, *added], jaxpr.name, bounds), tuple(varies)


# ---------------------------------------------------------------- regions


def _call(trace: SeriesTrace, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> list[Any]:
    """Calls, checkpoints, functions with rules of their own: what they are made of."""
    with use_trace(trace):
        return eval_jaxpr(params["jaxpr"], args)


def _coefs(trace: SeriesTrace, args: Sequence[Any]) -> list[Any]:
    """Coefficients 1 and up of the operands that are series."""
    return [helpers.instantiate(c) for a in args if trace.mine(a) for c in trace.coefficients(a)[1:]]


def _joined(trace: SeriesTrace, outs: Sequence[Any], varies: Sequence[bool]) -> list[Any]:
    """Results of a region, (*values, *coefficients of those that vary), as series."""
    rest = iter(outs[len(varies) :])
    return [
        trace.tracer([x, *(next(rest) for _ in range(trace.order))]) if v else x
        for x, v in zip(outs, varies, strict=False)
    ]


def _cond(trace: SeriesTrace, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> list[Any]:
    operands = args[1:]
    series = tuple(map(trace.mine, operands))
    force = tuple(
        map(any, zip(*(jet_jaxpr(b, trace.order, series)[1] for b in params["branches"]), strict=True))
    )
    branches = tuple(jet_jaxpr(b, trace.order, series, force)[0] for b in params["branches"])
    firsts = [trace.coef(a, 0) for a in args]
    outs = current_trace().process(op, (*firsts, *_coefs(trace, operands)), {**params, "branches": branches})
    return _joined(trace, outs, force)


def _fixpoint(
    body: Jaxpr, order: int, before: tuple[bool, ...], carry: tuple[bool, ...], after: tuple[bool, ...]
) -> tuple[Jaxpr, tuple[bool, ...], tuple[bool, ...]]:
    """The jet of a loop's body with every carry marked that comes to vary: (body, carry, which results)."""
    n = len(carry)
    while True:
        _, varies = jet_jaxpr(body, order, (*before, *carry, *after))
        wider = tuple(a or b for a, b in zip(carry, varies, strict=False))
        if wider == carry:
            force = (*carry, *varies[n:])
            new, varies = jet_jaxpr(body, order, (*before, *carry, *after), force)
            return new, carry, varies
        carry = wider


def _carried(trace: SeriesTrace, values: Sequence[Any], carry: Sequence[bool]) -> list[Any]:
    """Coefficients 1 and up of the carries that vary."""
    return [
        helpers.instantiate(c)
        for a, s in zip(values, carry, strict=True)
        if s
        for c in trace.coefficients(a)[1:]
    ]


def _while(trace: SeriesTrace, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> list[Any]:
    nc, nb = params["cond_consts"], params["body_consts"]
    cond, consts, init = args[:nc], args[nc : nc + nb], args[nc + nb :]
    series = tuple(map(trace.mine, consts))
    body, carry, varies = _fixpoint(params["body"], trace.order, series, tuple(map(trace.mine, init)), ())
    extra = _carried(trace, init, carry)
    old = params["cond"]
    ignored = tuple(Var(None, aval_of(x)) for x in extra)
    const_coefs = _coefs(trace, consts)
    operands = [trace.coef(a, 0) for a in (*cond, *consts)] + const_coefs
    operands += [trace.coef(a, 0) for a in init] + extra
    # The body's inputs: consts, carry, consts' coefficients, carry's: the consts' go in front.
    body = _reordered(body, [nb, len(init), len(const_coefs), len(extra)], (0, 2, 1, 3))
    body = _with_rows_last(body, len(init), len(varies), len(extra))
    new = {
        **params,
        "cond": Jaxpr((*old.invars, *ignored), old.eqns, old.outs, old.name),
        "body": body,
        "body_consts": nb + len(const_coefs),
    }
    outs = current_trace().process(op, tuple(operands), new)
    return _joined(trace, _values_first(outs, len(init), len(varies), len(extra)), varies)


def _with_rows_last(body: Jaxpr, carry: int, values: int, extra: int) -> Jaxpr:
    """A loop's body, whose results are `values` (the carry, then rows) and the coefficients of these, `extra`
    of them the carry's, with all of the carry first."""
    outs = body.outs
    first = (*outs[:carry], *outs[values : values + extra])
    return Jaxpr(body.invars, body.eqns, (*first, *outs[carry:values], *outs[values + extra :]), body.name)


def _values_first(outs: Sequence[Any], carry: int, values: int, extra: int) -> list[Any]:
    """The results of a loop with such a body in the body's order before."""
    cut = values + extra
    return [*outs[:carry], *outs[carry + extra : cut], *outs[carry : carry + extra], *outs[cut:]]


def _reordered(jaxpr: Jaxpr, sizes: Sequence[int], order: Sequence[int]) -> Jaxpr:
    """`jaxpr` with groups of inputs of these sizes in another order."""
    groups, start = [], 0
    for size in sizes:
        groups.append(jaxpr.invars[start : start + size])
        start += size
    return Jaxpr(tuple(v for n in order for v in groups[n]), jaxpr.eqns, jaxpr.outs, jaxpr.name)


def _scan(trace: SeriesTrace, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> list[Any]:
    dynamic = int(params["length"] is None)
    nc, nk = params["consts"], params["carry"]
    consts, init, xs = (
        args[dynamic : dynamic + nc],
        args[dynamic + nc : dynamic + nc + nk],
        args[dynamic + nc + nk :],
    )
    cs, xs_series = tuple(map(trace.mine, consts)), tuple(map(trace.mine, xs))
    body, carry, varies = _fixpoint(
        params["jaxpr"], trace.order, (False, *cs), tuple(map(trace.mine, init)), xs_series
    )
    extra = [_coefs(trace, consts), _carried(trace, init, carry), _coefs(trace, xs)]
    a, b, c = map(len, extra)
    body = _reordered(body, [1 + nc, nk, len(xs), a, b, c], (0, 3, 1, 4, 2, 5))
    body = _with_rows_last(body, nk, len(varies), b)
    firsts = [[trace.coef(v, 0) for v in group] for group in (args[:dynamic], consts, init, xs)]
    operands = (*firsts[0], *firsts[1], *extra[0], *firsts[2], *extra[1], *firsts[3], *extra[2])
    new = {**params, "jaxpr": body, "consts": nc + a, "carry": nk + b}
    got = current_trace().process(op, operands, new)
    return _joined(trace, _values_first(got, nk, len(varies), b), varies)


_REGIONS: dict[type, Callable[..., list[Any]]] = {
    CallRegion: _call,
    CondRegion: _cond,
    WhileRegion: _while,
    ScanRegion: _scan,
}
