"""What Numba is told of a jitted function before any shape is known.

Numba knows ranks and dtypes, and asks for those of the results before anything runs. `promised` finds them by tracing
the function for shapes that it has met, or for made-up ones.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tracejit.api.common import name_of
from tracejit.api.foreign.frozen import Frozen
from tracejit.errors import ForeignFunctionError, NumbaResultError, TracejitError
from tracejit.interpreters import jit as native
from tracejit.interpreters.eval import ROOT
from tracejit.records import record
from tracejit.tracing import use_trace

#: Sizes with which a function is traced to see which results it has.
_SIZES = (8, 3, 2, 64)


@record(frozen=True)
class Leaf:
    """An array or number that Numba gives: its dtype; `rank` dimensions (None: a number), in C order (`ordered`) and
    `writeable` or not; whether the number is Python's; the argument that it is in, by its position or name."""

    dtype: str
    rank: int | None
    owner: int | str
    ordered: bool = True
    writeable: bool = True
    python: bool = False

    @property
    def is_integer(self) -> bool:
        return self.rank is None and np.dtype(self.dtype).kind in "biu"

    @property
    def is_wide(self) -> bool:
        """Whether the number may be too large for programs of Python's usual integers."""
        return self.python and np.dtype(self.dtype).kind == "i"

    @property
    def words(self) -> int:
        if self.rank is not None:
            return self.rank if self.ordered else 2 * self.rank
        return self.is_integer + self.is_wide


@record(frozen=True)
class Arguments:
    """The arguments: by position and by name, each a tree of `Leaf`s, ('tuple', ...), ('fields', class, ...) and
    ('value', x)."""

    positional: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...]

    @property
    def leaves(self) -> list[Leaf]:
        trees = [*self.positional, *(tree for _, tree in self.named)]
        return [leaf for tree in trees for leaf in leaves_of(tree)]

    def filled(self, values: Iterator[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """(args, kwargs) with these values for the leaves."""
        args = tuple(_filled(tree, values) for tree in self.positional)
        return args, {name: _filled(tree, values) for name, tree in self.named}


def leaves_of(tree: Any) -> Iterator[Leaf]:
    if type(tree) is Leaf:
        yield tree
    elif tree[0] != "value":
        for part in tree[1 if tree[0] == "tuple" else 2 :]:
            yield from leaves_of(part)


def _filled(tree: Any, values: Iterator[Any]) -> Any:
    if type(tree) is Leaf:
        return next(values)
    if tree[0] == "value":
        return tree[1]
    if tree[0] == "tuple":
        return tuple(_filled(part, values) for part in tree[1:])
    return tree[1](*(_filled(part, values) for part in tree[2:]))


@record(frozen=True)
class Promise:
    """What calls give, whatever the shapes: `outs`, the outputs that are memory of their own, (dtype, rank or None for
    a number); `results`, ('array' | 'number' | 'python', out), ('arg', leaf) and ('value', 'i' | 'f' | 'b');
    `structure`, a tree of positions in `results`."""

    outs: tuple[tuple[str, int | None], ...]
    results: tuple[tuple[str, Any], ...]
    structure: Any

    @property
    def details(self) -> int:
        """Words of a node that say what differs among shapes."""
        return sum(rank or 0 for _, rank in self.outs) + sum(kind == "value" for kind, _ in self.results)


# ---------------------------------------------------------------- what is promised


def promised(jitted: Any, arguments: Arguments) -> tuple[Promise, bool]:
    """The promise of a function for such arguments: what it gives for shapes that it has met, or for made-up ones. And
    whether integers among the arguments decide shapes, so that it is to be made for their values (`sized`).

    Raises ForeignFunctionError if Numba can't call it, NumbaResultError if it works for no made-up shape."""
    error: Exception | None = None
    for traced, shapes in _shapes(jitted, arguments):
        values = [example(leaf, shape) for leaf, shape in zip(arguments.leaves, shapes, strict=True)]
        try:
            return Made(traced, arguments, values).promise, False
        except ForeignFunctionError as e:
            if not any(leaf.is_integer and leaf.python for leaf in arguments.leaves):
                raise
            try:
                return Made(sized(traced, arguments), arguments, values).promise, True
            except TracejitError:
                raise e from None
        except TracejitError as e:
            error = error or e
            if e.limit:
                break
        except Exception as e:
            error = error or e
    raise NumbaResultError(
        function=name_of(jitted.fun), problem=f"tracing it for made-up shapes fails ({_first_line(error)})"
    ) from error


def sized(jitted: Any, arguments: Arguments) -> Any:
    """The function, jitted for the values of its integers."""
    integers = {leaf.owner for leaf in arguments.leaves if leaf.is_integer and leaf.python}
    return type(jitted)(jitted.fun, jitted.options.with_more(frozenset(integers), frozenset()))


def _first_line(error: Any) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def _shapes(jitted: Any, arguments: Arguments) -> Iterator[tuple[Any, list[tuple[int, ...]]]]:
    """Shapes to try: those of programs that there are, and made-up ones, of which the function keeps nothing."""
    leaves = arguments.leaves
    wanted = [(np.dtype(leaf.dtype), leaf.rank or 0) for leaf in leaves]
    for programs in list(jitted._programs.values()):
        avals = [v.aval for v in programs[0].jaxpr.invars[len(programs[0].const_sources) :]]
        if [(a.dtype, len(a.shape)) for a in avals] == wanted:
            yield jitted, [a.shape for a in avals]
    other = type(jitted)(jitted.fun, jitted.options)
    for size in _SIZES:
        yield other, [(size,) * (leaf.rank or 0) for leaf in leaves]


def example(leaf: Leaf, shape: tuple[int, ...], strides: Any = None, value: Any = 1) -> Any:
    """A value of the leaf's type: only type and layout matter, and the values of integers."""
    dtype = np.dtype(leaf.dtype)
    if leaf.rank is None:
        return dtype.type(value).item() if leaf.python else dtype.type(value)
    array = np.empty(shape if leaf.ordered else (), dtype)
    if not leaf.ordered:
        strides = strides or tuple(s * dtype.itemsize for s in native.c_strides(shape))
        array = np.lib.stride_tricks.as_strided(array, shape, strides)
    if not leaf.writeable:
        array.flags.writeable = False
    return array


class Made:
    """The program of a function for arguments like `values`, as Numba calls it: `promise`, `frozen`; `static`, the
    arguments whose values are compiled in."""

    def __init__(self, jitted: Any, arguments: Arguments, values: Sequence[Any]) -> None:
        args, kwargs = arguments.filled(iter(values))
        with use_trace(ROOT):
            call, program, consts = jitted._prepare(args, kwargs)
            self.static = {*call.static, *call.static_kwargs}
            self.leaves = [n for n, leaf in enumerate(arguments.leaves) if leaf.owner not in self.static]
            layouts = [native.operand_strides(x) for x in call.leaves]
            self.frozen = Frozen(program, consts, layouts, "Numba")
        self._check_leaves(arguments)
        self.promise = self._promise()

    def _error(self, problem: str, remedy: str) -> ForeignFunctionError:
        return ForeignFunctionError(
            function=self.frozen.function, caller="Numba", problem=problem, remedy=remedy
        )

    def _check_leaves(self, arguments: Arguments) -> None:
        """Raises ForeignFunctionError if what Numba gives can't be what the program takes or writes."""
        all_leaves, first = arguments.leaves, self.frozen.first
        statics = [x for n, x in enumerate(all_leaves) if n not in self.leaves]
        if not all(x.is_integer for x in statics):
            raise self._error("an argument that is static is no integer", "bind it: `functools.partial`")
        for n, x in zip(self.leaves, self.frozen.inputs[first:], strict=True):
            if x.written and not all_leaves[n].writeable:
                raise self._error("it writes into an array that Numba says is read-only", "give it a copy")

    def _promise(self) -> Promise:
        program, lowered = self.frozen.program, self.frozen.compiled.lowered
        python = program.python
        free = [n for n in range(len(lowered.out_avals)) if n not in lowered.aliases]
        arrays = {x for kind, x in program.results if kind == "array"}
        outs = []
        for n in free:
            a = lowered.out_avals[n]
            if a.dtype.kind not in "biufc" or a.dtype == np.float16:
                raise self._error(
                    f"a result is {a.dtype}, which Numba does not have", "convert it: `x.astype(np.float32)`"
                )
            outs.append((a.dtype.str, len(a.shape) if a.shape or n in arrays else None))
        results: list[tuple[str, Any]] = []
        for kind, x in program.results:
            if kind in ("out", "array"):
                if x not in free:
                    raise self._error(
                        "a result takes the memory of an argument that is donated", "do not donate it"
                    )
                number = outs[free.index(x)][1] is None
                results.append(
                    ("array" if not number else "python" if x in python else "number", free.index(x))
                )
            elif kind == "arg":
                results.append((kind, self.leaves[x]))
            elif kind == "value" and type(x) in (bool, int, float):
                results.append((kind, {bool: "b", int: "i", float: "f"}[type(x)]))
            else:
                raise self._error(
                    "a result is a captured array or a constant of NumPy's", "return a copy: `np.array(x)`"
                )
        return Promise(tuple(outs), tuple(results), self._structure(program.out_tree, itertools.count()))

    def _structure(self, tree: Any, count: Iterator[int]) -> Any:
        """('tuple', ...), ('fields', class, ...), None or the position of a leaf."""
        kind = tree.type
        if kind is None:
            return next(count)
        if kind is type(None):
            return None
        parts = tuple(self._structure(child, count) for child in tree.children())
        if kind is tuple:
            return ("tuple", *parts)
        if hasattr(kind, "_fields"):
            return ("fields", kind, *parts)
        raise self._error(f"its result is or has a {kind.__name__}", "return a tuple")

    def details(self) -> list[int]:
        """The last words of the node."""
        lowered = self.frozen.compiled.lowered
        shapes = [
            lowered.out_avals[n].shape for n in range(len(lowered.out_avals)) if n not in lowered.aliases
        ]
        values = [x for kind, x in self.frozen.program.results if kind == "value"]
        bits = [struct.unpack("<q", struct.pack("<d" if type(x) is float else "<q", x))[0] for x in values]
        return [*(n for shape in shapes for n in shape), *bits]
