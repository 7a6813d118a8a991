"""Functions of slices and elements: apply_along_axis, apply_over_axes, vectorize."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any

import numpy as np

from tracejit import dtypes, ops, tree
from tracejit.control.regions.staging import raw_leaves, stage_user
from tracejit.errors import (
    ArgumentError,
    ArgumentTypeError,
    ConcreteValueError,
    ReadOnlyViewError,
    TracerArrayError,
    TracerBoolError,
    TracerFloatError,
    TracerIntegerError,
    UnfollowedError,
)
from tracejit.errors.refusals import attempt
from tracejit.interpreters.vmap import batch_flat, batch_to_front
from tracejit.ir.avals import Aval, aval_of
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.layouts import as_numpys
from tracejit.numpy.boxes.members import indexed_copy
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT as NP
from tracejit.numpy.dispatch import implements, plain, publish
from tracejit.numpy.fitting import stored
from tracejit.numpy.functions.arrays.joining import stack
from tracejit.numpy.functions.arrays.shaping import box_of, expand_dims, moveaxis, reshape
from tracejit.numpy.functions.statistics.reductions import axes_of, axis_of
from tracejit.numpy.operands import broadcast_shapes, cast, dtype_of, has_box, raw, shape_of
from tracejit.tracing import Box, box, call_user, caller, new_array, to_raw, wrap

# What a function raises that looks at the values of its arguments.
_NEEDS_VALUES = (ConcreteValueError, TracerArrayError, TracerBoolError, TracerFloatError, TracerIntegerError)


def mapped(
    fn: Callable[..., Any], count: int, rows: Sequence[Any], weak: Sequence[bool], typed: bool = False
) -> tuple[Any, list[Any]]:
    """`fn` of each of `count` rows of raw arrays, as a tree of boxes with a leading axis; and for each array
    its rows as `fn` has left them (None where it wrote nothing).

    All rows at once where `fn` is a formula; one after the other where it looks at values
    and they are known. The dtypes are the first row's, as far as these are known, unless `fn` has seen
    to them (`typed`).

    Raises:
        UnfollowedError: `fn` does something besides, which NumPy would have done once a row.
    """
    with caller.changed(fn) as found:
        out = _mapped(fn, count, rows, weak, typed)
    if found:
        what = "a function of the elements or slices of an array"
        raise UnfollowedError(what=what, reason=f"it {found[0]} whenever it is called")
    return out


def _mapped(
    fn: Callable[..., Any], count: int, rows: Sequence[Any], weak: Sequence[bool], typed: bool
) -> tuple[Any, list[Any]]:
    structure: list[Any] = []
    written: list[bool] = []

    def flat(*raws: Any) -> list[Any]:
        boxes = [new_array(r) if shape_of(r) else box(r, w) for r, w in zip(raws, weak, strict=True)]
        leaves, treedef = tree.flatten(call_user(fn, *boxes))
        structure[:] = [treedef]
        written[:] = [b.storage.version > 0 for b in boxes]
        left = [b.read() for b, w in zip(boxes, written, strict=True) if w]
        return [*raw_leaves(leaves, treedef, lambda n: "an output"), *left]

    first = None if typed else _first_dtypes(fn, rows, weak)
    try:
        with attempt(*_NEEDS_VALUES):
            outs, dims = batch_flat(flat, count, rows, [0] * len(rows), numbers=True)
        full = [batch_to_front(o, d, count) for o, d in zip(outs, dims, strict=True)]
    except _NEEDS_VALUES:
        each = [flat(*(raw(wrap(r)[n]) for r in rows)) for n in range(count)]
        full = [raw(stack([box_of(x) for x in column])) for column in zip(*each, strict=True)]
    results, left = full[: structure[0].num_leaves], iter(full[structure[0].num_leaves :])
    if first is not None:
        results = [cast(r, d) for r, d in zip(results, first, strict=True)]
    out = tree.unflatten(structure[0], [new_array(r) for r in results])
    return out, [next(left) if w else None for w in written]


def _first_dtypes(fn: Callable[..., Any], rows: Sequence[Any], weak: Sequence[bool]) -> list[np.dtype] | None:
    """The dtypes of what `fn` gives for the first row, which NumPy's results have; None if it is not known."""
    values = [extents.known(r) for r in rows]
    if any(v is None or not len(v) for v in values):
        return None
    firsts = [box(np.array(v[0])[()], w) for v, w in zip(values, weak, strict=True)]
    return [dtype_of(to_raw(x, "an output")) for x in tree.flatten(call_user(fn, *firsts))[0]]


@implements(np.apply_along_axis, "apply_along_axis")
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of every one-dimensional slice: of all at once where it is a formula. It may write into them."""
    x = box_of(arr)
    n = axis_of("apply_along_axis", axis, x.ndim)
    x = moveaxis(x, n, -1)
    lead = x.shape[:-1]
    rows = reshape(x, (int(np.prod(lead, dtype=int)), x.shape[-1]))
    if not rows.shape[0]:
        raise ArgumentError(
            name="apply_along_axis",
            problem="cannot apply_along_axis when any iteration dimensions are 0",
        )

    def one(row: Any) -> Any:
        found = func1d(row, *args, **kwargs)
        return box_of(list(found) if isinstance(found, tuple) else found)  # a named tuple, too

    out, (left,) = mapped(one, rows.shape[0], [raw(rows)], [False])
    if left is not None:
        if isinstance(arr, np.ndarray):  # which cannot hold traced values
            raise TracerArrayError(aval=str(aval_of(left)))
        x[...] = reshape(wrap(left), x.shape)
    out = reshape(out, (*lead, *out.shape[1:]))
    extra = out.ndim - len(lead)
    return moveaxis(out, tuple(range(len(lead), out.ndim)), tuple(range(n, n + extra))) if extra else out


@implements(np.apply_over_axes, "apply_over_axes")
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    """`func(a, axis)` for one axis after the other; axes that it removes come back with size 1."""
    x = box_of(a)
    n = x.ndim
    for axis in axes_of("apply_over_axes", axes if isinstance(axes, (tuple, list)) else (axes,), n):
        out = box_of(func(x, axis))
        out = out if out.ndim == n else expand_dims(out, axis)
        if out.ndim != n:
            problem = "function is not returning an array of the correct shape"
            raise ArgumentError(name="apply_over_axes", problem=problem)
        x = out
    return x


# ---------------------------------------------------------------- vectorize

#: Python's numbers, as which NumPy hands elements of arrays of these kinds to a function that it calls with objects.
PYTHONS = {
    "b": dtypes.bool_,
    "i": dtypes.int64,
    "u": dtypes.int64,
    "f": dtypes.float64,
    "c": dtypes.complex128,
}
_CORE = re.compile(r"\(([^()]*)\)")


def _core_dims(text: str) -> list[list[str]]:
    """The names of the core dimensions of each argument or result."""
    return [[d.strip() for d in c.split(",") if d.strip()] for c in _CORE.findall(text)]


def _update(sizes: dict[str, Any], core: list[str], shape: Any) -> None:
    """Enter the sizes of core dimensions; one name has one size."""
    for name, size in zip(core, shape, strict=True):
        if sizes.setdefault(name, size) != size:
            problem = f"inconsistent size for core dimension {name!r}: {size} vs {sizes[name]}"
            raise ArgumentError(name="vectorize", problem=problem)


def _array_of(x: Any) -> Any:
    """A result as an array."""
    if isinstance(x, list):
        raise ArgumentError(name="vectorize", problem="setting an array element with a sequence")
    return NP[np.asarray](x)


def _is_alike(x: Any) -> bool:
    """Whether elements give results of one dtype as NumPy's scalars and as Python's numbers."""
    return x.aval.dtype in (dtypes.float64, dtypes.complex128)


def _as_object(x: Any, row: Any) -> tuple[Any, bool]:
    """The elements of an argument as NumPy's object arrays hold them, and whether they are Python's numbers.

    Raises:
        UnfollowedError: they may be too large for 64 bits.
    """
    python = None if x.scalar or x.weak else PYTHONS.get(x.aval.dtype.kind)
    if python is None:
        return row, x.weak
    if x.aval.dtype == np.uint64:
        what = "an unsigned integer of 64 bits that np.vectorize hands to a function"
        raise UnfollowedError(what=what, reason="it is one of Python's there, of any size")
    return cast(row, python), True


def _elements(fn: Any, wanted: list[np.dtype]) -> Any:
    """`fn` with its results as elements of arrays: Python's numbers have to fit them."""

    def one(x: Any, dtype: np.dtype) -> Any:
        made = _array_of(x)
        if made.aval.shape if type(made) is Box else np.shape(made):
            return made
        python = x.weak if type(x) is Box else isinstance(x, Number) and not isinstance(x, np.generic)
        judged = python or dtypes.is_complex(dtype_of(raw(made)))  # NumPy makes floats of objects by `float`
        return indexed_copy(stored(box(raw(made), judged), dtype))

    def elements(*given: Any) -> Any:
        out = fn(*given)
        if not isinstance(out, tuple):
            return one(out, wanted[0])
        padded = [*wanted, *[dtypes.float64] * (len(out) - len(wanted))]
        return tuple(map(one, out, padded))

    return elements


class vectorize:
    """`np.vectorize`: a function of scalars (or of cores, by `signature`) as one of arrays.

    The function runs once, on all elements at a time, where it is a formula of its arguments.
    """

    def __init__(
        self, pyfunc: Any = None, otypes: Any = None, doc: str | None = None, excluded: Any = None,
        cache: bool = False, signature: str | None = None,
    ) -> None:  # fmt: skip
        self._options: dict[str, Any] = {
            "otypes": otypes, "doc": doc, "excluded": excluded, "cache": cache, "signature": signature,
        }  # fmt: skip
        self._excluded = set(excluded or ())
        self.pyfunc = pyfunc
        self.signature = signature
        if pyfunc is not None:
            functools.update_wrapper(self, pyfunc)
        self.__doc__ = doc if doc is not None else getattr(pyfunc, "__doc__", None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.pyfunc is None:  # a decorator with options
            return vectorize(args[0], **self._options)
        if not (has_box(args) or has_box(kwargs.values())):
            return plain(np.vectorize(self.pyfunc, **self._options), args, kwargs)
        varying = [n for n in range(len(args)) if n not in self._excluded]
        names = [k for k in kwargs if k not in self._excluded]
        given = [box_of(args[n]) for n in varying] + [box_of(kwargs[k]) for k in names]

        pyfunc = self.pyfunc

        def fn(*elements: Any) -> Any:
            it = iter(elements)
            full = [next(it) if n in varying else a for n, a in enumerate(args)]
            return pyfunc(*full, **{k: next(it) if k in names else v for k, v in kwargs.items()})

        if not given:
            return self.pyfunc(*args, **kwargs)
        return self._apply(fn, given)

    def _apply(self, fn: Any, xs: list[Any]) -> Any:
        cores = self._cores(len(xs))
        shapes = [x.aval.shape for x in xs]
        if any(len(s) < len(c) for s, c in zip(shapes, cores, strict=True)):
            problem = f"an argument has too few dimensions for the signature {self.signature!r}"
            raise ArgumentError(name="vectorize", problem=problem)
        split = [len(s) - len(c) for s, c in zip(shapes, cores, strict=True)]
        sizes: dict[str, Any] = {}
        for s, c, k in zip(shapes, cores, split, strict=True):
            _update(sizes, c, s[k:])
        loop = broadcast_shapes("vectorize", [s[:k] for s, k in zip(shapes, split, strict=True)])
        count = int(np.prod(loop, dtype=int))
        if not count and self._options["otypes"] is None:
            raise ArgumentError(
                name="vectorize", problem="cannot call `vectorize` on size 0 inputs unless `otypes` is set"
            )
        rows = []
        for x, s, k in zip(xs, shapes, split, strict=True):
            wide = ops.shape.broadcast_to(raw(x), (*loop, *s[k:]))
            rows.append(ops.shape.reshape(wide, shape=(count, *s[k:])))
        weak = [x.weak for x in xs]
        objects = self.signature is None and count > 0
        if objects and (self._options["otypes"] is not None or not all(map(_is_alike, xs))):
            wanted = self._dtypes(fn, rows)
            given = [_as_object(x, r) for x, r in zip(xs, rows, strict=True)]
            rows, weak = [r for r, _ in given], [w for _, w in given]
            out, left = mapped(_elements(fn, wanted), count, rows, weak, typed=True)
        else:
            weak = [x.weak or (objects and not x.scalar) for x in xs]
            out, left = mapped(self._arrays(fn), count, rows, weak)
        if any(x is not None for x in left):  # what NumPy gives the function is read-only
            raise ReadOnlyViewError()
        many = isinstance(out, tuple)
        leaves = list(out) if many else [out]
        self._check_outputs(leaves, sizes)
        leaves = [self._typed(reshape(o, (*loop, *o.shape[1:])), n) for n, o in enumerate(leaves)]
        if self.signature is None and loop:  # NumPy makes a ufunc of the function
            leaves = [new_array(raw(x)) for x in leaves]
            as_numpys(np.frompyfunc(lambda *_: (0.0,) * len(leaves), len(xs), len(leaves)), xs, {}, leaves)
        return tuple(leaves) if many else leaves[0]

    def _dtypes(self, fn: Any, rows: list[Any]) -> list[np.dtype]:
        """The dtypes of the results: `otypes`, or what NumPy finds when it calls the function first, with the first
        elements as its own scalars."""
        otypes = self._options["otypes"]
        if otypes is not None:
            return [dtypes.canonical(t) for t in otypes]
        arrays, weak = self._arrays(fn), [False] * len(rows)
        found = _first_dtypes(arrays, rows, weak)
        if found is None:
            avals = [Aval((), dtype_of(r)) for r in rows]
            staged = stage_user(arrays, [tree.structure(0)] * len(rows), avals, weak, "vectorize")
            found = [a.dtype for a in staged.out_avals]
        return found

    def _arrays(self, fn: Any) -> Any:
        """`fn` with its results, or those in its tuple, as arrays."""

        def arrays(*elements: Any) -> Any:
            out = fn(*elements)
            return tuple(map(_array_of, out)) if isinstance(out, tuple) else _array_of(out)

        return arrays

    def _check_outputs(self, leaves: list[Any], sizes: dict[str, Any]) -> None:
        if self.signature is None:
            wanted: list[list[str]] = [[] for _ in leaves]
        else:
            wanted = _core_dims(self.signature.split("->")[-1])
        if len(wanted) != len(leaves):
            problem = f"wrong number of outputs from pyfunc: expected {len(wanted)}, got {len(leaves)}"
            raise ArgumentError(name="vectorize", problem=problem)
        for o, core in zip(leaves, wanted, strict=True):
            if o.ndim - 1 != len(core):
                problem = f"setting an array element with a sequence: {o.ndim - 1} dimensions for {len(core)}"
                raise ArgumentError(name="vectorize", problem=problem)
            _update(sizes, core, o.shape[1:])

    def _cores(self, count: int) -> list[list[str]]:
        if self.signature is None:
            return [[]] * count
        cores = _core_dims(self.signature.split("->")[0])
        if len(cores) != count:
            raise ArgumentTypeError(
                name="vectorize", problem=f"wrong number of arguments for the signature {self.signature!r}"
            )
        return cores

    def _typed(self, x: Any, n: int) -> Any:
        otypes = self._options["otypes"]
        if otypes is None:
            return x
        d = dtypes.canonical(otypes[n])
        return x if dtype_of(raw(x)) == d else x.astype(d)


publish(np.vectorize, vectorize, "vectorize")
