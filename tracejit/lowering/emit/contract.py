"""Matrix products: BLAS where it pays, loops where it does not; for a device its library, or loops.

A convolution is a batched product over a view of windows. Its operands are packed one batch at a time, so that the
patches never exist as a whole.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.ir.avals import Shape
from tracejit.ir.jaxpr import Atom, Eqn, Var
from tracejit.lowering.emit import libraries
from tracejit.lowering.emit.layouts import count, index_of, merge, permuted
from tracejit.lowering.emit.products import LETTERS, REAL, TINY, Product, against_blas
from tracejit.lowering.loops.nodes import I64
from tracejit.lowering.plan.access import ZERO, Index, Scalar, Stored
from tracejit.lowering.plan.context import loops

if TYPE_CHECKING:
    from tracejit.lowering.emit.body import Body

_CACHED = (
    1 << 18
)  # elements of a matrix up to which loops multiply a vector by it as fast as BLAS, without a call
#: Multiplications up to which gemm does not call for the threads of BLAS: OpenBLAS's limits.
_ALONE = {"s": 1 << 18, "d": 1 << 18, "c": 1 << 15, "z": 1 << 15}
#: Elements of a matrix that has to be copied for BLAS above which the sum is taken part by part, so that the copy of
#: a part stays in the cache, and terms that a part has at least.
_COPIED, _PART = 1 << 17, 256
_FEW = 64  # sums that are kept in registers


def emit_contract(body: Body, eqn: Eqn) -> None:
    """Choose loops or BLAS."""
    p = Product(eqn)
    if body.ctx.libraries is not None:
        if body.ctx.notes is not None:
            body.ctx.notes.about("products: device", eqn, work=p.work, least=libraries.LEAST)
        if not libraries.product(body, p):
            _by_loops(body, p)
        return
    call, why = None, against_blas(p)
    if why is None and (call := _Gemm.of(body, p)) is None:
        why = "dynamic"
    if body.ctx.notes is not None:
        rule = f"products: {why or ('loops' if call and call.is_loops else 'blas')}"
        body.ctx.notes.about(
            rule, eqn, work=p.work, least=TINY, cached=_CACHED, routine=call.routine if call else ""
        )
    if call is not None:
        call.emit()
    else:
        _by_loops(body, p)


# ---------------------------------------------------------------- loops


def _by_loops(body: Body, p: Product) -> None:
    """The accumulator in a register, the contracted axes inside (any order of additions for floats)."""
    k = body.k
    before: dict[Any, Any] = {a: body.values[a] for a in (p.x, p.y) if a.aval.shape and type(a) is Var}
    body.values.update((a, body.buffered(a)) for a in before)
    is_scalar = not p.out.aval.shape
    target = None if is_scalar else body.place(p.out)
    dtype = p.out.aval.dtype
    wide = np.dtype(np.float32) if dtype.itemsize == 2 and dtype.kind not in "iu" else dtype
    with loops(body, (*p.batch, *p.m, *p.n), vector=False, independent=True) as idx:
        b, m, n = _split(idx, len(p.batch), len(p.m))
        acc = k.slot(k.const(0, wide), "acc")
        with loops(body, p.k) as c:
            x = k.cast(body.read(p.x, index_of(p.x, (p.xb, b), (p.xm, m), (p.xk, c))), wide)
            y = k.cast(body.read(p.y, index_of(p.y, (p.yb, b), (p.yn, n), (p.yk, c))), wide)
            k.set(acc, _multiply_add(k, k.get(acc), x, y))
        total = k.cast(k.get(acc), dtype)
        if target is not None:
            body.put(target, idx, total)
    body.values.update(before)
    if target is None:
        body.values[p.out] = Scalar(total)
    else:
        body.define(p.out)


def _multiply_add(k: Any, acc: Any, x: Any, y: Any) -> Any:
    if acc.dtype.kind == "b":
        return k.or_(acc, k.and_(x, y))
    return k.add(acc, k.mul(x, y), attr="reassoc" if acc.dtype.kind in "fc" else None)


def _split(idx: Index, batch: int, m: int) -> tuple[Index, Index, Index]:
    return idx[:batch], idx[batch : batch + m], idx[batch + m :]


# ---------------------------------------------------------------- BLAS


class _Gemm:
    """A product as calls of gemm or gemv on strided matrices."""

    def __init__(
        self, body: Body, p: Product, x: Stored | _Packed, y: Stored | _Packed, parts: list[int]
    ) -> None:
        """`parts` are the sizes of the contracted axes that are taken one after another."""
        self.parts = parts
        self.body = body
        self.p = p
        self.x = x
        self.y = y
        self.letter = LETTERS[p.x.aval.dtype.name]
        #: A matrix times a vector that stays in the cache is multiplied by loops.
        self.is_loops = not (p.m and p.n) and p.work <= _CACHED and self.letter in REAL
        self.routine = f"{self.letter}{'gemm' if p.m and p.n else 'gemv'}"

    @staticmethod
    def of(body: Body, p: Product) -> _Gemm | None:
        """The call, or None where several axes would have to be merged that are dynamic."""
        if any(type(d) is not int for dims in (p.m, p.n, p.k) if len(dims) > 1 for d in dims):
            return None
        first = 1 if _pays_in_parts(body, p) else 0
        x = _matrix(body, p.x, (*p.xb, *p.xk[:first]), p.xm, p.xk[first:])
        y = _matrix(body, p.y, (*p.yb, *p.yk[:first]), p.yk[first:], p.yn)
        return _Gemm(body, p, x, y, p.k[:first])

    def emit(self) -> None:
        body, k, p = self.body, self.body.k, self.p
        m, n, inner = (self._merged(d) for d in (p.m, p.n, p.k[len(self.parts) :]))
        out = body.place(p.out) if p.out.aval.shape else body.ctx.allocate(body, (), p.out.aval.dtype, "dot")
        target = (
            out
            if not p.out.aval.shape or body.plan.storage[p.out].plain
            else body.ctx.allocate(body, p.out.aval.shape, p.out.aval.dtype, "t")
        )
        width = target.strides[-1 - len(p.n)] if p.m and p.n else 1
        with loops(body, p.batch, vector=False, independent=True) as b:
            if p.batch:
                body.ctx.make_private([s.matrix.buffer for s in (self.x, self.y) if isinstance(s, _Packed)])
            z = replace(
                target, offset=Stored(target.buffer, target.strides[: len(b)], target.offset).at(k, b)
            )
            if self.parts:
                with k.loop(0, m) as i:
                    row = k.add(z.offset, k.mul(i, width))
                    with k.loop(0, n, vector=True) as j:
                        k.store(z.buffer, k.add(row, j), k.const(0, z.buffer.dtype))
            with loops(body, self.parts, vector=False) as part:
                self._matrices((*b, *part), z, m, n, inner, width)
        if not p.out.aval.shape:
            body.values[p.out] = Scalar(k.load(out.buffer, 0))
            return
        body.define(p.out)
        if target is not out:
            body.ctx.copy(body, out, target, p.out.aval)

    def _matrices(self, at: Index, z: Stored, m: Any, n: Any, inner: Any, width: Any) -> None:
        """The product of the matrices at an index. Row-major out = x y is column-major out^T = y^T x^T."""
        k, p = self.body.k, self.p
        x, y = (s.at(at) if isinstance(s, _Packed) else _at(k, s, at) for s in (self.x, self.y))
        if not p.n:
            self._gemv(x, z, y.strides[-2], y, m, inner)
        elif not p.m:
            self._gemv(replace(y, strides=y.strides[::-1]), z, x.strides[-1], x, n, inner)
        else:
            self._gemm(x, y, z, m, n, inner, width)

    def _merged(self, dims: list[Any]) -> Any:
        return self.body.extent(dims[0]) if len(dims) == 1 else math.prod(dims)

    def _slot(self, x: Any) -> Any:
        k = self.body.k
        return k.slot(k.lift(x, I64), "n")

    def _scalar(self, x: float) -> Any:
        """A pointer to a factor; complex ones are two numbers side by side."""
        return self.body.ctx.constant(self.p.x.aval.dtype, x)

    def _flag(self, transposed: bool) -> Any:
        k, i8 = self.body.k, np.dtype(np.int8)
        return k.slot(k.const(ord("T") if transposed else ord("N"), i8), "flag")

    def _gemm(self, x: Stored, y: Stored, z: Stored, m: Any, n: Any, inner: Any, width: Any) -> None:
        k = self.body.k
        tx, ldx = _layout(k, x, m, inner)
        ty, ldy = _layout(k, y, inner, n)
        target = k.external(f"blas:{self.letter}gemm", f"void({','.join(['ptr'] * 13)})")
        sizes = (self._slot(n), self._slot(m), self._slot(inner))
        one, before = self._scalar(1), self._scalar(1 if self.parts else 0)
        k.call(
            target,
            (
                self._flag(ty),
                self._flag(tx),
                *sizes,
                one,
                _pointer(y),
                self._slot(ldy),
                _pointer(x),
                self._slot(ldx),
            )
            + (before, _pointer(z), self._slot(k.int_op("smax", k.lift(width, I64), 1))),
            work=self.p.work if self.p.work <= _ALONE[self.letter] else 0,
        )

    def _gemv(self, a: Stored, z: Stored, step: Any, v: Stored, m: Any, inner: Any) -> None:
        """z[m] = sum over inner of a[m, inner] * v[inner]."""
        k = self.body.k
        if self.is_loops:
            _gemv_by_loops(k, a, z, step, v, m, inner)
            return
        transposed, lda = _layout(k, a, m, inner)
        target = k.external(f"blas:{self.letter}gemv", f"void({','.join(['ptr'] * 11)})")
        # Column-major, a row-major matrix is its transpose: m x inner is stored as inner x m.
        rows, columns = (m, inner) if transposed else (inner, m)
        if type(inner) is not int:  # gemv returns at once where there is nothing to add up
            with k.loop(0, m) as i:
                k.store(z.buffer, k.add(z.offset, i), k.const(0, z.buffer.dtype))
        args = (
            self._flag(not transposed),
            self._slot(rows),
            self._slot(columns),
            self._scalar(1),
            _pointer(a),
        )
        k.call(
            target,
            (
                *args,
                self._slot(lda),
                _pointer(v),
                self._slot(step),
                self._scalar(0),
                _pointer(z),
                self._slot(1),
            ),
        )


def _gemv_by_loops(k: Any, a: Stored, z: Stored, step: Any, v: Stored, m: Any, inner: Any) -> None:
    """z[m] = sum over inner of a[m, inner] * v[inner], along the memory of `a`."""
    dtype, (row, column) = z.buffer.dtype, a.strides

    def factor(j: Any) -> Any:
        return k.load(v.buffer, k.add(v.offset, k.mul(j, step)))

    if type(column) is int and column == 1:
        with k.loop(0, m) as i:
            acc, start = k.slot(k.const(0, dtype), "acc"), k.add(a.offset, k.mul(i, row))
            with k.loop(0, inner, vector=True) as j:
                k.set(acc, _multiply_add(k, k.get(acc), k.load(a.buffer, k.add(start, j)), factor(j)))
            k.store(z.buffer, k.add(z.offset, i), k.get(acc))
        return
    pieces = _pieces(m)
    for first, stop in pieces:
        with k.loop(first, stop, vector=True) as i:
            k.store(z.buffer, k.add(z.offset, i), k.const(0, dtype))
    with k.loop(0, inner) as j:
        scale, start = factor(j), k.add(a.offset, k.mul(j, column))
        for first, stop in pieces:
            with k.loop(first, stop, vector=True) as i:
                at = k.add(z.offset, i)
                term = _multiply_add(k, k.load(z.buffer, at), k.load(a.buffer, k.add(start, i)), scale)
                k.store(z.buffer, at, term)


def _pieces(n: Any) -> list[tuple[Any, Any]]:
    """A few sums as whole vectors and powers of two, which stay in registers. As one loop LLVM makes them vectors of
    which a mask hides a part; these it stores and loads for each term, and the loads wait for the stores (10 sums of 10
    terms take 3.5 times as long)."""
    if type(n) is not int or n > _FEW:
        return [(0, n)]
    stops = sorted({n & -8, n & -4, n & -2, n} - {0})
    return list(zip((0, *stops), stops, strict=False))


def _pointer(s: Stored) -> Any:
    return (s.buffer, s.offset)


def _at(k: Any, s: Stored, b: Index) -> Stored:
    """The matrix at a batch index."""
    offset = Stored(s.buffer, s.strides[: len(b)], s.offset).at(k, b)
    return replace(s, strides=s.strides[len(b) :], offset=offset)


def _pays_in_parts(body: Body, p: Product) -> bool:
    """Whether a sum over several axes is taken along the first one part by part: a matrix that has to be copied is
    large, and its parts are not too small."""
    if not (p.m and p.n and len(p.k) > 1 and p.k[0] > 1 and math.prod(p.k[1:]) >= _PART):
        return False
    operands = ((p.x, p.xb, p.xm, p.xk), (p.y, p.yb, p.yk, p.yn))
    return any(
        count(a.aval.shape, (*rows, *columns)) > _COPIED
        and merge(body.buffered(a), a.aval.shape, batch, rows, columns) is None
        for a, batch, rows, columns in operands
    )


class _Packed:
    """A strided part of a buffer that BLAS cannot read as matrices: each is copied when its turn comes, so
    that the copy stays in the cache."""

    def __init__(self, body: Body, source: Stored, shape: Shape, batch: Any, rows: Any, columns: Any) -> None:
        self.body = body
        self.source = source
        self.batch = batch
        self.axes = (*rows, *columns)
        self.shape = tuple(shape[n] for n in self.axes)
        self.matrix = body.ctx.allocate(body, self.shape, source.buffer.dtype, "pack")
        self.width = count(shape, columns)

    def at(self, b: Index) -> Stored:
        """The matrix at a batch index, in C order."""
        body, k, s = self.body, self.body.k, self.source
        index: list[Any] = [ZERO] * len(s.strides)
        with loops(body, self.shape) as idx:
            for n, i in zip((*self.batch, *self.axes), (*b, *idx), strict=True):
                index[n] = i
            body.put(self.matrix, idx, k.load(s.buffer, s.at(k, tuple(index))))
        return replace(self.matrix, strides=(self.width, 1))


def _matrix(body: Body, atom: Atom, batch: Any, rows: Any, columns: Any) -> Stored | _Packed:
    """An operand as (batch..., row, column) strides that BLAS can read, copied if it has to be."""
    value = body.buffered(atom)
    got = merge(value, atom.aval.shape, batch, rows, columns)
    if got is None and body.ctx.notes is not None:
        body.note_copy("layout of a product", atom)
    if got is None and batch and atom.aval.is_static:
        return _Packed(body, value, atom.aval.shape, batch, rows, columns)
    if got is None:
        value = body.materialise(atom, "")
        got = merge(value, atom.aval.shape, batch, rows, columns)
    return got if got is not None else permuted(body, atom, batch, rows, columns)


def _layout(k: Any, s: Stored, rows: Any, columns: Any) -> tuple[bool, Any]:
    """(is it stored by columns, leading dimension) of a row-major matrix."""
    r, c = s.strides
    if type(c) is int and c == 1:
        return False, k.int_op("smax", k.lift(r, I64), k.int_op("smax", k.lift(columns, I64), 1))
    return True, k.int_op("smax", k.lift(c, I64), k.int_op("smax", k.lift(rows, I64), 1))
