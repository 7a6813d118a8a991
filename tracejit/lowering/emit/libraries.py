"""Calls of a device's libraries, where a program is for a device: products of matrices, and what else is in the table.

Such a call names its operands and results as strided parts of buffers that the host knows before the program runs. What
does not lie so, because a loop computes where it starts or a pointer says it, is copied.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.ir.jaxpr import Atom, Eqn
from tracejit.lowering.cuda.libs.operations import OPERATIONS
from tracejit.lowering.emit.layouts import count, merge, merged_stride, permuted
from tracejit.lowering.emit.products import Product
from tracejit.lowering.loops.nodes import Const
from tracejit.lowering.lowered import Library, View
from tracejit.lowering.plan.access import Scalar, Stored, c_strides

if TYPE_CHECKING:
    from tracejit.lowering.emit.body import Body

#: Multiplications from which a product is a library's: with fewer a kernel of ours is done as soon, and does what comes
#: before and after, too.
LEAST = 1 << 18
_MOST = (1 << 31) - 1  # of an extent or a stride in these libraries
_KNOWN = ("arg", "arena", "stack")  # kinds of buffers whose addresses the host knows
_COPIED = 1 << 28  # elements of an operand that is copied at most


def product(body: Body, p: Product) -> bool:
    """Write a product as a call of the device's library. False, and nothing is written: it is no product for that."""
    sizes = (*p.batch, *p.m, *p.n, *p.k)
    if not all(type(d) is int for d in sizes):
        return False
    batch, m, n, k = (math.prod(d) for d in (p.batch, p.m, p.n, p.k))
    fits = batch * m * n * k > 0 and max(batch, m * k, k * n, m * n) <= _MOST
    dtype = p.out.aval.dtype
    same = p.x.aval.dtype == p.y.aval.dtype == dtype
    if not (same and fits and batch * m * n * k >= LEAST and OPERATIONS["product"].takes([p.x.aval], {})):
        return False
    x = _operand(body, p.x, p.xb, p.xm, p.xk)
    y = _operand(body, p.y, p.yb, p.yk, p.yn)
    if x is None or y is None:
        return False
    axes = range(p.out.aval.ndim)
    parts = axes[: len(p.xb)], axes[len(p.xb) : len(p.xb) + len(p.m)], axes[len(axes) - len(p.n) :]
    out = body.place(p.out) if axes else body.ctx.allocate(body, (), dtype, "dot")
    z = _matrices(out, p.out.aval.shape, *parts) if len(axes) else replace(out, strides=(1, 1, 1))
    target = out
    if z is None:
        target = body.ctx.allocate(body, p.out.aval.shape, dtype, "t")
        z = _matrices(target, p.out.aval.shape, *parts)
        assert z is not None
    shapes = (batch, m, k), (batch, k, n), (batch, m, n)
    views = [_view(s, shape, dtype) for s, shape in zip((x, y, z), shapes, strict=True)]
    call(body, Library("product", {}, views[:2], views[2:]), (x, y, z), batch * m * n * k)
    if not axes:
        body.values[p.out] = Scalar(body.k.load(out.buffer, 0))
        return True
    body.define(p.out)
    if target is not out:
        body.ctx.copy(body, out, target, p.out.aval)
    return True


def operation(body: Body, eqn: Eqn) -> list[Stored] | None:
    """Write an equation as a call of the device's library, whose results are given as whole blocks. None, and nothing
    is written: the library does not do it."""
    name = getattr(eqn.op.kernel, "on_device", "")
    known = OPERATIONS.get(name)
    avals = [a.aval for a in (*eqn.invars, *eqn.outvars)]
    if body.ctx.libraries is None or known is None or not all(a.is_static and a.size for a in avals):
        return None
    if max(a.size for a in avals) > _MOST or not known.takes(avals[: len(eqn.invars)], eqn.params):
        return None
    ins = [_whole(body, a) for a in eqn.invars]
    outs = [_result(body, v) for v in eqn.outvars]
    views = [View(a.shape, c_strides(a.shape), 0, a.dtype) for a in avals]
    count = len(ins)
    call(
        body,
        Library(name, eqn.params, views[:count], views[count:], eqn.op),
        (*ins, *outs),
        0,
    )
    return outs


def _whole(body: Body, atom: Atom) -> Stored:
    """An operand as a block in C order that the host knows."""
    value = body.contiguous(atom)
    return value if value.buffer.kind in _KNOWN else body.materialise(atom, "")


def _result(body: Body, var: Any) -> Stored:
    """Where a result goes: its own place, if that is a whole block that the host knows."""
    if var in body.plan.storage and body.plan.storage[var].plain:
        place = body.place(var)
        if type(place.offset) is int and not place.offset and place.buffer.kind in _KNOWN:
            return place
    return body.ctx.allocate(body, var.aval.shape, var.aval.dtype, "res")


def call(body: Body, library: Library, places: tuple[Stored, ...], work: int) -> None:
    """Write the call. `work`: its multiplications."""
    k, known = body.k, body.ctx.libraries
    assert known is not None
    target = k.external(f"library:{library.name}:{len(known)}", f"void({','.join(['ptr'] * len(places))})")
    known.append(library)
    k.call(target, tuple(s.buffer for s in places), work=work)


def _view(s: Stored, shape: tuple[int, ...], dtype: np.dtype) -> View:
    return View(shape, s.strides, s.offset, dtype)


def _operand(body: Body, atom: Atom, batch: Any, rows: Any, columns: Any) -> Stored | None:
    """An operand with the strides (batch, row, column), copied if it has to be; None: that copy would be too large."""
    shape = atom.aval.shape
    if (got := _matrices(body.buffered(atom), shape, batch, rows, columns)) is not None:
        return got
    if count(shape, range(len(shape))) > _COPIED:
        return None
    body.note_copy("layout of a product", atom)
    m, n = count(shape, rows), count(shape, columns)
    return replace(permuted(body, atom, batch, rows, columns), strides=(m * n, n, 1))


def _matrices(s: Stored, shape: Any, batch: Any, rows: Any, columns: Any) -> Stored | None:
    """The strides (batch, row, column) of a value, if a library reads it where it lies."""
    offset = s.offset.value if isinstance(s.offset, Const) else s.offset
    if s.buffer.kind not in _KNOWN or type(offset) is not int:
        return None
    got, step = merge(s, shape, batch, rows, columns), merged_stride(s, shape, batch)
    if got is None or not all(type(x) is int and 0 <= x <= _MOST for x in (step, *got.strides[-2:])):
        return None
    return replace(got, strides=(step, *got.strides[-2:]), offset=offset)
