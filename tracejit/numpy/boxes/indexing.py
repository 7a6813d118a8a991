"""x[...] and x[...] = v: everything NumPy's indexing has, integers and slice bounds possibly traced.

An index is parsed into a basic part, which is a `Region` view, and arrays of
integers, which gather from (and scatter into) that view.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import (
    BufferedListError,
    DynamicExtentError,
    OuterWriteError,
    ReadOnlyViewError,
    ShapeError,
    TracerArrayError,
    UnfollowedError,
)
from tracejit.errors.refusals import attempt
from tracejit.interpreters.stage import StageTrace
from tracejit.ir.avals import Aval, Shape, aval_of, capacity
from tracejit.ir.values import Value
from tracejit.numpy import lengths
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.layouts import as_numpys
from tracejit.numpy.boxes.masking import masked, selected
from tracejit.numpy.boxes.parse import Selection, parse
from tracejit.numpy.boxes.placed import Bits, filled_like, has_bits
from tracejit.numpy.boxes.sharing.either import Either, may_share
from tracejit.numpy.boxes.sharing.references import Arena, where
from tracejit.numpy.boxes.unsure import is_unsure, taken
from tracejit.numpy.boxes.views import Identity, Region, views_of
from tracejit.numpy.fitting import converted, judge_loss
from tracejit.numpy.operands import (
    LISTS,
    broadcast_shapes,
    cast,
    convert,
    dtype_of,
    element,
    nested,
    raw,
    shape_of,
)
from tracejit.tracing import Box, Frozen, Storage, View, bind_update, box, check_live, current_trace, wrap

# ---------------------------------------------------------------- reading


def view_of(x: Box, chain: tuple[View, ...], shape: Shape | None = None) -> Box:
    """A box on the storage of `x`, seen through `chain` (of `shape`, if it is known and static). Of a number NumPy
    makes an array first, each time another."""
    storage = box(x.storage.value).storage if (x.scalar or x.weak) and not x.chain else x.storage
    known = shape is not None and all(type(d) is int for d in shape)
    out = Box(storage, chain, Aval(shape, x.aval.dtype) if known else _type_of(storage, chain, shape))
    out.identity = Identity()
    return out


def _type_of(storage: Storage, chain: tuple[View, ...], shape: Shape | None) -> Aval:
    """The type of what `chain` shows, by its value. There is none where the examples of a vmap differ in size: elements
    of it can still be read, by views of the view."""
    try:
        with attempt(DynamicExtentError):
            return aval_of(storage.read(chain))
    except DynamicExtentError:
        if shape is None:
            raise
        return Aval(shape, aval_of(storage.value).dtype)


def view_of_all(x: Box) -> Box:
    """Another box of what `x` shows: `x.T` of a vector."""
    out = Box(x.storage, x.chain, x.aval)
    out.identity = Identity()
    return out


def getitem(x: Box, index: Any) -> Any:
    """`x[index]`: a view for basic indices, a NumPy-like scalar for integers only, else a new array."""
    shape = extents.shape_here(x.aval.shape)
    if type(index) is tuple:
        index = masked.places_of_masks(index)
    if masked.selected_by(index):
        index = masked.as_mask(index, shape)
        found = _selected_again(x, index)
        if found is not None:
            return found
    sel = parse(shape, index)
    if not sel.arrays and sel.mask is None:
        chain = views_of(x.chain, shape, sel.items)
        last: Any = chain[-1]
        if type(last) is Region and not last.axes and not _has_ellipsis(index):
            return wrap(_read_once(x.storage, chain))
        return view_of(x, chain, last.shape)
    part = x.read() if sel.trivial else x.storage.read(views_of(x.chain, shape, sel.items))
    if sel.mask is not None:
        return selected.select(part, *sel.mask)
    return as_numpys(np.ndarray.__getitem__, (x, index), {}, box(gather(part, sel)), True)


def _selected_again(x: Box, index: Any) -> Box | None:
    """`x[index]` by arrays that a mask selected, where nothing need be moved; None otherwise."""
    pair = masked.again(x, index)
    if pair is not None:
        return masked.narrowed(*pair)
    found = masked.indices(index)
    if found is None:
        return None
    s, index = found
    sel = parse(x.aval.shape, index)
    part = x.read() if sel.trivial else x.storage.read(views_of(x.chain, x.aval.shape, sel.items))
    first = next((n for n in range(len(shape_of(part)) + 1) if n not in Layout(part, sel).offset), 0)
    return selected.boxed(gather(part, sel), first, s.mask)


def _has_ellipsis(index: Any) -> bool:
    return index is Ellipsis or (type(index) is tuple and any(e is Ellipsis for e in index))


def _read_once(storage: Storage, chain: tuple[View, ...]) -> Any:
    """The value of a view that will not be read again, so that the storage need not remember it."""
    value = storage.value
    for view in chain:
        value = view.read(value)
    return value


class Layout:
    """Where the dimensions of `part[arrays]` come from."""

    __slots__ = ("axes", "batch", "indices", "offset", "shape")

    def __init__(self, part: Any, sel: Selection) -> None:
        shape = shape_of(part)
        self.axes = tuple(d for d, _ in sel.arrays)
        arrays = [i for _, i in sel.arrays]
        self.batch = broadcast_shapes("index", [shape_of(i) for i in arrays])
        self.indices = stack_indices(arrays, self.batch)
        rest = [d for d in range(len(shape)) if d not in self.axes]
        first = 0 if sel.front else sum(d < self.axes[0] for d in rest)
        n = len(self.batch)
        self.offset = tuple(k if k < first else k + n for k in range(len(rest)))
        kept = tuple(shape[d] for d in rest)
        self.shape: Shape = (*kept[:first], *self.batch, *kept[first:])


def stack_indices(arrays: list[Any], batch: Shape) -> Any:
    """Index arrays as one int64 array with the coordinates along the last axis."""
    if not any(isinstance(a, Value) for a in arrays):
        return np.stack([np.broadcast_to(a, batch) for a in arrays], -1).astype(np.int64, copy=False)  # type: ignore[arg-type]
    n = len(batch)
    columns = [
        ops.shape.expand_dims(ops.shape.broadcast_to(cast(a, dtypes.int64), batch), (n,)) for a in arrays
    ]
    return ops.concat.concatenate(*columns, dimension=n)


def gather(part: Any, sel: Selection) -> Any:
    """The elements at integer arrays, already checked."""
    at = Layout(part, sel)
    numbers = ops.gather.GatherDimensionNumbers(
        offset_dims=at.offset, collapsed_slice_dims=at.axes, start_index_map=at.axes
    )
    sizes = tuple(1 if d in at.axes else s if type(s) is int else None for d, s in enumerate(shape_of(part)))
    return ops.gather.gather(
        part, at.indices, dimension_numbers=numbers, slice_sizes=sizes, mode="promise_in_bounds"
    )


# ---------------------------------------------------------------- writing


class Scattered(View):
    """The elements of the parent at integer arrays: a write-only step."""

    __slots__ = ("at", "sel")

    def __init__(self, sel: Selection, at: Layout) -> None:
        self.sel = sel
        self.at = at

    def read(self, part: Any) -> Any:
        return gather(part, self.sel)

    def write(self, holder: list[Any], new: Any) -> Any:
        numbers = ops.scatter.ScatterDimensionNumbers(
            update_window_dims=self.at.offset,
            inserted_window_dims=self.at.axes,
            scatter_dims_to_operand_dims=self.at.axes,
        )
        return bind_update(
            ops.scatter.scatter_op,
            holder,
            self.at.indices,
            new,
            dimension_numbers=numbers,
            mode="promise_in_bounds",
            unique_indices=False,
        )


#: What NumPy converts by its own rules when it is assigned: 300 does not fit uint8, nan no integer.
_PYTHON_VALUES = frozenset({bool, int, float, complex, str, bytes, type(None)})


def _listed(xs: Any, dtype: np.dtype) -> Box:
    """A list as an array of these. Raises what NumPy raises for the first item; UnfollowedError where a later one can't
    be converted, before which NumPy would have written others."""
    try:
        return wrap(nested(list(xs), dtype))
    except (ValueError, TypeError, OverflowError) as e:
        first = xs
        while type(first) in LISTS and len(first):
            first = first[0]
        if type(first) is not Box:
            np.asarray(first, dtype)
        reason = f"NumPy writes the items before the one that fails ({e})"
        raise UnfollowedError(what="a list that is assigned to items of an array", reason=reason) from e


def setitem(x: Box, index: Any, value: Any) -> None:
    """`x[index] = value`, with NumPy's casting and broadcasting, seen by every view of the same storage."""
    shape = extents.shape_here(x.aval.shape)
    if x.scalar:
        raise TypeError(f"'numpy.{x.aval.dtype.type.__name__}' object does not support item assignment")
    if is_unsure(value) and x.aval.dtype == value.aval.dtype:
        value = taken(value)
    if type(value) in _PYTHON_VALUES:
        value = converted(value, x.aval.dtype)
    elif type(value) in LISTS:
        value = _listed(value, x.aval.dtype)
    elif type(value) is Box and value.weak:
        value = box(convert(value, x.aval.dtype))
    if shape_of(value):
        judge_loss(dtype_of(value), x.aval.dtype)
    if type(index) is tuple:
        index = masked.places_of_masks(index)
    if masked.selected_by(index):
        index = masked.as_mask(index, shape)
    if masked.write_in_place(x, index, value, check_depth):
        return
    sel = parse(shape, index)
    chain = x.chain if sel.trivial else views_of(x.chain, shape, sel.items)
    if (
        type(value) is Box
        and value.storage is x.storage
        and _same_chain(value.chain, chain)
        and not sel.arrays
        and all(v.writable for v in chain)
    ):
        return  # x[i:j] += v has already written
    if sel.mask is not None:
        part = x.storage.read(chain)
        marks = masked.masked_write(filled_like(part, 0), *sel.mask, 1) if has_bits(chain) else None
        assign(x.storage, chain, masked.masked_write(part, *sel.mask, value), marks)
        return
    if not sel.arrays and (_is_element(index, sel, len(shape)) or not shape_of(value)):
        new = _one(value, x.aval.dtype)
    else:
        new = cast(_value(value), x.aval.dtype)
    if sel.arrays:
        at = Layout(x.storage.read(chain), sel)
        chain, target = (*chain, Scattered(sel, at)), at.shape
    else:
        target = chain[-1].shape if chain and not sel.trivial else shape  # type: ignore[attr-defined]
    assign(x.storage, chain, fit(new, target))


def _is_element(index: Any, sel: Selection, ndim: int) -> bool:
    """Whether an index names one element."""
    return len(sel.items) == ndim and all(i[0] == "at" for i in sel.items) and not _has_ellipsis(index)


def _one(value: Any, dtype: np.dtype) -> Any:
    """The raw value of what becomes one element, which no array can be, or fills several."""
    if np.ndim(value):
        converted(np.broadcast_to(np.zeros((), dtype), capacity(shape_of(value))), dtype)
    return element(value, dtype)


def _value(value: Any) -> Any:
    r = raw(value)
    return r.copy() if type(r) is np.ndarray and type(value) is not Box else r


def _same_chain(a: tuple[View, ...], b: tuple[View, ...]) -> bool:
    return len(a) == len(b) and all(v is w or v.same(w) for v, w in zip(a, b, strict=True))


def fit(value: Any, shape: Shape) -> Any:
    """A raw value broadcast to the shape of what it is assigned to."""
    have = shape_of(value)
    if have == shape:
        return value
    extra = len(have) - len(shape)
    if extra > 0 and all(d == 1 for d in have[:extra]):  # NumPy drops leading ones here
        value = ops.shape.squeeze(value, dimensions=tuple(range(extra)))
        have = have[extra:]
    found = (
        lengths.fitted("setitem", value, shape[len(shape) - len(have) :]) if len(have) <= len(shape) else None
    )
    if found is None:
        raise ShapeError(
            op="setitem", problem=f"could not broadcast input array from shape {have} into shape {shape}"
        )
    return ops.shape.broadcast_to(found, shape)


def assign(storage: Storage, chain: tuple[View, ...], new: Any, marks: Any = None) -> None:
    """Replace what `chain` shows of the storage by `new` (of its shape and dtype), and of the arrays that it is.
    `marks`: ones where `new` is written, if that is not everywhere."""
    if not isinstance(storage, Either):
        _replace(storage, chain, new, marks)
        return
    parts = [(o, o.part(chain)) for o in storage.alive()]
    _replace(storage, chain, new, marks)
    for owner, part in parts:
        _replace(owner.storage, part, owner.choose(new, owner.storage.read(part)), marks)
    storage.settle()


def refill(values: list[tuple[Storage, Any]]) -> None:
    """Let storages hold new raw values, as a loop or branch has left them. Chosen arrays among them have not taken in
    what their owners hold now."""
    for storage, x in values:
        check_depth(storage, x)
        storage.cache.clear()
        storage.value = x
        storage.version += 1


def _replace(storage: Storage, chain: tuple[View, ...], new: Any, marks: Any = None) -> None:
    if not all(v.writable for v in chain):
        if any(isinstance(v, Frozen) for v in chain):
            raise TracerArrayError(aval=str(aval_of(new)))
        raise ReadOnlyViewError()
    storage, chain = where(storage, chain)
    if type(storage.rows) is Arena:
        storage.rows.written |= not storage.rows.filling
    elif storage.rows is not None and storage.rows.role != "column":
        raise may_share(BufferedListError(what="a write into an array that is or was an item"))
    check_depth(storage, new)
    storage.cache.clear()
    holder, storage.value = [storage.value], None
    outside = current_trace() is not storage.trace
    shared = isinstance(holder[0], Value) and isinstance(current_trace(), StageTrace)
    kept = holder[0] if outside or shared else None
    try:
        storage.value = _write(chain, holder, new, marks)
        if outside:  # an index that is an inner trace's makes the result one
            check_depth(storage, storage.value)
    except BaseException:
        storage.value = holder[0] if holder else kept
        raise
    storage.version += 1


def _write(chain: tuple[View, ...], holder: list[Any], new: Any, marks: Any = None) -> Any:
    if not chain:
        holder.pop()
        return new
    parents = [holder]
    for view in chain[:-1]:
        parents.append([view.read(parents[-1][0])])
    whole = filled_like(new, 1) if marks is None and has_bits(chain) else marks
    for n, view in reversed([*enumerate(chain)]):
        if type(view) is Bits:
            inside = _write(chain[n + 1 :], [filled_like(new, 0)], whole)
            new = view.write_marked(parents[n], new, inside)
        else:
            new = view.write(parents[n], new)
    return new


def check_depth(storage: Storage, *values: Any) -> None:
    """Raises OuterWriteError if a write now would put an inner trace's value into the storage."""
    owner, trace = storage.trace, current_trace()
    if trace is owner:
        for v in values:
            if isinstance(v, Value):
                check_live(v)
        return
    if trace.claim is not None and trace.claim(storage):
        return
    inner = any(isinstance(v, Value) and v.trace is not None and v.trace.level > owner.level for v in values)
    while trace is not None and trace is not owner and not inner:
        inner = isinstance(trace, StageTrace)
        trace = trace.parent
    if inner:
        raise OuterWriteError(aval=str(aval_of(storage.value)))
