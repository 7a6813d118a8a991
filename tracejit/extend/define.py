"""Records made of what users give, and their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tracejit.control.regions.lanes import over_lanes
from tracejit.control.scan.op import scan_op
from tracejit.errors import PrimitiveNameError, PrimitiveSlotError
from tracejit.extend.formula import Formula
from tracejit.extend.rules import Checked, batch_rule, jvp_rule, leading_axes, tangent_rule, transpose_rule
from tracejit.ir.kernel import Composite, Kernel, Opaque, Pointwise
from tracejit.ir.primitive import (
    NO_EFFECTS,
    REGISTRY,
    Op,
    Rule,
    Sentinel,
)
from tracejit.ops.building import helpers
from tracejit.tracing import bind, to_raw, wrap

#: kernel: compiled programs call the Python function, holding the GIL.
OPAQUE = Sentinel("OPAQUE")
#: kernel: the Python function is traced, so that it is compiled and fuses with what is around it.
TRACED = Sentinel("TRACED")
#: batch: `eval`, `type` and the derivatives take any number of leading axes, as NumPy's linalg does.
LEADING_AXES = Sentinel("LEADING_AXES")
#: batch: one application for every element of the batch, in a native loop.
ONE_BY_ONE = Sentinel("ONE_BY_ONE")

_users: set[str] = set()  # the names defined here


def claim(name: str, replace: bool) -> None:
    """Raises PrimitiveNameError if `name` is taken and may not be replaced."""
    if name in REGISTRY:
        if not replace or name not in _users:
            owner = "a primitive that was defined before" if name in _users else "tracejit"
            raise PrimitiveNameError(name=name, owner=owner)
        del REGISTRY[name]
    _users.add(name)


def first_line(doc: str | None, fn: Callable[..., Any], name: str) -> str:
    text = (doc or getattr(fn, "__doc__", None) or name).strip()
    return text.splitlines()[0]


def kernel_of(check: Checked, kernel: Any, fn: Callable[..., Any], cost: int) -> Kernel:
    if kernel is OPAQUE:
        return Opaque()
    if kernel is TRACED:
        return Composite(Formula(check, fn).expand)
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return Pointwise(kernel, cost)
    raise PrimitiveSlotError(name=check.name, problem=f"{kernel!r} is not a kernel")


def named(function: Any, op: Op, doc: str | None) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = doc or op.doc
    function.op = op
    return function


def kernel_form(check: Checked, kernel: Any, fn: Callable[..., Any]) -> Kernel:
    if isinstance(kernel, Kernel) or kernel in (OPAQUE, TRACED):
        return kernel_of(check, kernel, fn, 1)
    raise PrimitiveSlotError(name=check.name, problem=f"{kernel!r} is not a kernel form")


def define(
    check: Checked,
    *,
    type: Rule,
    eval: Rule,
    jvp: Any,
    transpose: Any,
    batch: Any,
    kernel: Kernel,
    effects: Iterable[str],
    doc: str,
    text: str | None,
    replace: bool,
) -> Callable[..., Any]:
    name, multi, names = check.name, check.multi, frozenset(effects)

    def get_op() -> Op:
        return op

    slots = {
        "jvp": _jvp_slot(check, get_op, jvp),
        "transpose": _transpose_slot(check, transpose),
        "batch": _batch_slot(check, get_op, batch),
        "effects": (lambda params: names) if names else NO_EFFECTS,
    }
    claim(name, replace)
    op = helpers.plain(
        name=name,
        doc=doc,
        multi=multi,
        type=type,
        eval=eval,
        kernel=kernel,
        **slots,
    )

    def function(*xs: Any, **params: Any) -> Any:
        out = bind(op, *[to_raw(np.asarray(x) if isinstance(x, (list, tuple)) else x) for x in xs], **params)
        return tuple(map(wrap, out)) if multi else wrap(out)

    return named(function, op, text)


def _is_ours(rule: Any) -> bool:
    return isinstance(getattr(rule, "__self__", None), Formula)


def _jvp_slot(check: Checked, get_op: Callable[[], Op], jvp: Any) -> Rule | Sentinel:
    if isinstance(jvp, Sentinel) or _is_ours(jvp):
        return jvp
    if callable(jvp):
        return jvp_rule(check, get_op, jvp)
    if check.multi:
        problem = "with several outputs, jvp is one function of all primals and tangents"
        raise PrimitiveSlotError(name=check.name, problem=problem)
    rules = tuple(None if d is None else tangent_rule(check, n, d) for n, d in enumerate(jvp))
    return helpers.sum_jvp(get_op, rules)


def _transpose_slot(check: Checked, transpose: Any) -> Rule | Sentinel:
    if callable(transpose):
        return transpose if _is_ours(transpose) else transpose_rule(check, transpose)

    def missing(*_: Any, **__: Any) -> Any:
        problem = "it is applied to tangents, so reverse mode needs its transpose: give transpose="
        raise PrimitiveSlotError(name=check.name, problem=problem)

    return missing


def _batch_slot(check: Checked, get_op: Callable[[], Op], batch: Any) -> Rule:
    if batch is LEADING_AXES:
        return leading_axes(get_op)
    if batch is ONE_BY_ONE:
        return _one_by_one(get_op)
    if isinstance(batch, Sentinel) or not callable(batch):
        raise PrimitiveSlotError(name=check.name, problem=f"{batch!r} is not a batch rule")
    return batch if _is_ours(batch) else batch_rule(check, batch)


def _one_by_one(get_op: Callable[[], Op]) -> Rule:
    def batch(size: Any, args: Any, dims: Any, **params: Any) -> tuple[Any, Any]:
        op = get_op()

        def lane(*raw: Any) -> Any:
            out = bind(op, *raw, **params)
            return out if op.multi else [out]

        outs, out_dims = over_lanes(scan_op, lane, size, args, dims, op.name)
        return (outs, out_dims) if op.multi else (outs[0], out_dims[0])

    return batch
