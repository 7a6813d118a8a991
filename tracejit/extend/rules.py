"""Users' rules, which take and give arrays (boxes while tracing), as rules on raw values, with checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.api.introspect import ShapeDtypeStruct
from tracejit.control.regions.residuals import refuse_dynamic
from tracejit.control.regions.staging import convert, is_weak
from tracejit.errors import NotAnArrayError, PrimitiveRuleError
from tracejit.interpreters.eval import ROOT
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.primitive import Op, Rule
from tracejit.ir.values import Zero, is_linear
from tracejit.numpy.operands import has_box
from tracejit.ops.building import helpers
from tracejit.tracing import bind, call_user, to_raw, use_trace, wrap


class Checked:
    """What the rules of the primitive `name` return, as raw values of the right types."""

    def __init__(self, name: str, multi: bool) -> None:
        self.name = name
        self.multi = multi

    def fail(self, rule: str, problem: str) -> PrimitiveRuleError:
        return PrimitiveRuleError(rule=rule, name=self.name, problem=problem)

    def several(self, rule: str, got: Any, count: int | None, what: str) -> list[Any]:
        """A tuple or list of `count` results (any number if None)."""
        if not isinstance(got, (tuple, list)) or (count is not None and len(got) != count):
            found = f"{len(got)} of them" if isinstance(got, (tuple, list)) else f"a {type(got).__name__}"
            wanted = "" if count is None else f" of {count}"
            raise self.fail(rule, f"it must return a tuple{wanted} {what}, not {found}")
        return list(got)

    def outputs(self, rule: str, got: Any, avals: Sequence[Aval], what: str = "the result") -> list[Any]:
        """The leaves of a result: a tuple if the primitive has several outputs."""
        parts = self.several(rule, got, len(avals), "of results") if self.multi else [got]
        names = [f"{what} {n}" if self.multi else what for n in range(len(parts))]
        return [self.leaf(rule, n, x, a) for n, x, a in zip(names, parts, avals, strict=True)]

    def leaf(self, rule: str, what: str, x: Any, aval: Aval) -> Any:
        """`x` as a raw value of type `aval`; a Zero for None and for tangents of integers."""
        if x is None and what.startswith(("the tangent", "cotangent")):
            return Zero(aval)
        raw = self.raw(rule, what, x)
        found = aval_of(raw)
        if dtypes.float0 in (aval.dtype, found.dtype):
            return Zero(aval)
        if found.dtype != aval.dtype and is_weak(x):
            raw = convert(raw, aval.dtype)
            found = aval_of(raw)
        static = found.is_static and aval.is_static
        if found.dtype != aval.dtype or found.ndim != aval.ndim or (static and found.shape != aval.shape):
            raise self.fail(rule, f"{what} is {found} instead of {aval}")
        return raw

    def raw(self, rule: str, what: str, x: Any) -> Any:
        try:
            return to_raw(np.asarray(x) if isinstance(x, list) and not has_box(x) else x, what)
        except NotAnArrayError as e:
            raise self.fail(rule, f"{what} is a {type(x).__name__}, not an array") from e


def structs(avals: Sequence[Aval]) -> list[ShapeDtypeStruct]:
    return [ShapeDtypeStruct(a.shape, a.dtype) for a in avals]


def shown(raws: Sequence[Any]) -> tuple[Any, ...]:
    """Raw values as users see them; known zeros are arrays of zeros."""
    return tuple([wrap(helpers.instantiate(x)) for x in raws])


# ---------------------------------------------------------------- eval and type


def type_rule(check: Checked, fn: Callable[..., Any]) -> Rule:
    """`fn(*ShapeDtypeStructs) -> ShapeDtypeStruct`, or a tuple of them."""

    def rule(*avals: Aval, **params: Any) -> Any:
        refuse_dynamic(check.name, avals)
        got = fn(*structs(avals), **params)
        parts = check.several("type rule", got, None, "of types") if check.multi else [got]
        out = [_as_aval(check, x) for x in parts]
        return out if check.multi else out[0]

    return rule


def _as_aval(check: Checked, x: Any) -> Aval:
    try:
        shape, dtype = (x.shape, x.dtype) if hasattr(x, "shape") else x
        return Aval(tuple(int(n) for n in shape), dtypes.canonical(dtype))
    except (TypeError, ValueError) as e:
        problem = f"it must give ShapeDtypeStructs or pairs (shape, dtype), not {x!r}"
        raise check.fail("type rule", problem) from e


def eval_rule(check: Checked, fn: Callable[..., Any], types: Rule) -> Rule:
    """`fn` on arrays, through NumPy; its results are checked against the type rule."""

    def rule(*arrays: Any, **params: Any) -> Any:
        with use_trace(ROOT):
            got = fn(*arrays, **params)
        avals = types(*map(aval_of, arrays), **params)
        outs = check.outputs("eval rule", got, avals if check.multi else [avals])
        outs = [np.asarray(x)[()] for x in outs]
        return outs if check.multi else outs[0]

    return rule


# ---------------------------------------------------------------- derivatives


def jvp_rule(check: Checked, get_op: Callable[[], Op], fn: Callable[..., Any]) -> Rule:
    """`fn(primals, tangents, **params) -> (out, tangent)`; None is a tangent of zero."""

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        if all(type(t) is Zero for t in tangents):
            outs = bind(get_op(), *primals, **params)
            return outs, _zeros(outs) if check.multi else _zeros([outs])[0]
        got = call_user(fn, shown(primals), shown(tangents), **params)
        out, tangent = check.several("jvp rule", got, 2, "(out, tangent)")
        avals = get_op().type(*map(aval_of, primals), **params)
        avals = avals if check.multi else [avals]
        outs = check.outputs("jvp rule", out, avals)
        ts = [None] * len(avals) if tangent is None and check.multi else tangent
        out_ts = check.outputs("jvp rule", ts, [a.tangent() for a in avals], "the tangent")
        return (outs, out_ts) if check.multi else (outs[0], out_ts[0])

    return rule


def _zeros(outs: Sequence[Any]) -> list[Any]:
    return [Zero(aval_of(o).tangent()) for o in outs]


def tangent_rule(check: Checked, n: int, fn: Callable[..., Any]) -> Callable[..., Any]:
    """One operand's `fn(t, ans, *primals, **params) -> tangent` for `ops.helpers.sum_jvp`."""
    name = f"derivative {n}"

    def rule(t: Any, ans: Any, *primals: Any, **params: Any) -> Any:
        got = call_user(fn, *shown([t, ans, *primals]), **params)
        want = aval_of(ans).tangent()
        if got is not None and not aval_of(check.raw(name, "the tangent", got)).shape:
            want = want.with_shape(())  # the same for every element
        return check.leaf(name, "the tangent", got, want)

    return rule


def transpose_rule(check: Checked, fn: Callable[..., Any]) -> Rule:
    """`fn(ct, *operands, **params) -> cotangents`; linear operands are given as ShapeDtypeStructs."""

    def rule(ct: Any, *args: Any, **params: Any) -> list[Any]:
        refuse_dynamic(check.name, [a.aval for a in args if is_linear(a)])
        cts: Any = shown(ct) if check.multi else shown([ct])[0]
        given = [structs([a.aval])[0] if is_linear(a) else wrap(a) for a in args]
        got = call_user(fn, cts, *given, **params)
        if len(args) == 1 and not isinstance(got, (tuple, list)):
            got = (got,)
        parts = check.several("transpose rule", got, len(args), "of cotangents")
        return [
            check.leaf("transpose rule", f"cotangent {n}", x, a.aval) if is_linear(a) else None
            for n, (x, a) in enumerate(zip(parts, args, strict=True))
        ]

    return rule


# ---------------------------------------------------------------- batching


def batch_rule(check: Checked, fn: Callable[..., Any]) -> Rule:
    """`fn(size, args, dims, **params) -> (out, dim)`, tuples of these if there are several outputs."""

    def rule(size: Any, args: Sequence[Any], dims: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        got = call_user(fn, size, shown(args), tuple(dims), **params)
        out, dim = check.several("batch rule", got, 2, "(out, dim)")
        outs = check.several("batch rule", out, None, "of results") if check.multi else [out]
        out_dims = check.several("batch rule", dim, len(outs), "of axes") if check.multi else [dim]
        raws = [check.raw("batch rule", "the result", x) for x in outs]
        for x, d in zip(raws, out_dims, strict=True):
            shape = aval_of(x).shape
            if d is not None and not (0 <= d < len(shape) and shape[d] == size):
                raise check.fail("batch rule", f"a result of shape {shape} has no axis {d} of size {size}")
        return (raws, out_dims) if check.multi else (raws[0], out_dims[0])

    return rule


def leading_axes(get_op: Callable[[], Op]) -> Rule:
    """For ops whose rules take any number of leading axes: operands broadcast to a common first axis."""

    def rule(size: Any, args: Sequence[Any], dims: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        op = get_op()
        outs = bind(
            op, *(helpers.to_batch_axis(x, d, 0, size) for x, d in zip(args, dims, strict=True)), **params
        )
        return outs, [0] * len(outs) if op.multi else 0

    return rule
