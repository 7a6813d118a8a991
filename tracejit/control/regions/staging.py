"""Staging the functions that users give to loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import ops, tree
from tracejit.control.regions.concrete import Number
from tracejit.control.regions.rules import with_outputs
from tracejit.errors import NotAFunctionError, NotAnArrayError
from tracejit.interpreters import leaks
from tracejit.interpreters.memo import memoize_by_jaxpr
from tracejit.interpreters.stage import stage
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.elsewhere import is_elsewhere
from tracejit.ir.jaxpr import Jaxpr
from tracejit.ir.values import Value
from tracejit.records import record
from tracejit.tracing import Box, Storage, box, call_user, current_trace, to_raw


@record(frozen=True)
class Staged:
    """A user's function as a jaxpr over (*consts, *arguments).

    `consts` are the raw values it closes over; `weak` says which outputs stand for Python scalars.
    """

    jaxpr: Jaxpr
    consts: list[Any]
    out_tree: Any
    weak: tuple[bool, ...]
    #: What goes on after it: the function has let objects of outside hold it. Its values are the last outputs.
    left: tuple[Storage, ...] = ()

    @property
    def out_avals(self) -> list[Aval]:
        return self.jaxpr.out_avals

    @property
    def paths(self) -> list[str]:
        return tree.paths(self.out_tree, "output")


@record(frozen=True)
class Leaves:
    """A pytree of arguments as raw values; `weak` ones are Python scalars."""

    raw: list[Any]
    weak: list[bool]
    tree: Any

    def paths(self, root: str) -> list[str]:
        return tree.paths(self.tree, root)


def is_weak(x: Any) -> bool:
    """Whether a leaf stands for a Python scalar."""
    return x.weak if type(x) is Box else type(x) in (bool, int, float, complex) or isinstance(x, Number)


def flatten(what: Any, name: str = "value") -> Leaves:
    """The leaves of a user's tree, `name` for messages, as raw values."""
    leaves, treedef = tree.flatten(what)
    try:
        raw = [to_raw(x) for x in leaves]
    except NotAnArrayError:
        raw = raw_leaves(leaves, treedef, lambda n: tree.paths(treedef, name)[n])
    return Leaves(raw, [is_weak(x) for x in leaves], treedef)


def raw_leaves(leaves: Sequence[Any], treedef: Any, what: Callable[[int], str]) -> list[Any]:
    """The raw values of a tree's leaves; `what` names the n-th. Raises NotAnArrayError."""
    return [raw_leaf(x, treedef, n, what) for n, x in enumerate(leaves)]


def raw_leaf(x: Any, treedef: Any, n: int, what: Callable[[int], str]) -> Any:
    """The raw value of leaf `n` of a tree.

    Raises:
        NotAnArrayError: it has none. A dataclass that it is a field of is named.
    """
    try:
        return to_raw(x)
    except NotAnArrayError:
        name = what(n) + tree.field_of(treedef, n)
    raise NotAnArrayError(what=name, type=type(x).__name__, value=x)


def raw_result(x: Any, treedef: Any, n: int, what: Callable[[int], str]) -> Any:
    """The raw value of a result. Of what can be made an array, as `np.poly1d` can, the class would be lost: raises
    NotAnArrayError."""
    known = (Box, Value, np.ndarray, np.generic, bool, int, float, complex)
    if isinstance(x, known) or is_elsewhere(x) or not hasattr(type(x), "__array__"):
        return raw_leaf(x, treedef, n, what)
    raise NotAnArrayError(what=what(n) + tree.field_of(treedef, n), type=type(x).__name__, value=x)


def check_functions(op: str, **functions: Any) -> None:
    """Raises NotAFunctionError if one of the arguments of `op` is none."""
    for name, f in functions.items():
        if not callable(f):
            raise NotAFunctionError(op=op, name=name, type=type(f).__name__)


def stage_user(
    fn: Callable[..., Any],
    trees: Sequence[Any],
    avals: Sequence[Aval],
    weak: Sequence[bool],
    name: str,
    bounds: Sequence[Any] | None = None,
    eager_constants: bool = True,
    arrays: bool = False,
    keeps: bool = False,
) -> Staged:
    """Stage `fn(*args)`, the arguments being trees of fresh boxes: the function's own copies.

    `avals` are as `stage` takes them, one a leaf of all `trees` in order. Without `eager_constants` small
    constants are computed by the program, not kept beside it. With `arrays` Python's numbers have the attributes of
    arrays, as in functions that are given to JAX's loops. With `keeps`, what of outside holds its values afterwards is
    `left`.
    """
    out: list[Any] = []

    def flat(*raw: Any) -> list[Any]:
        trace = current_trace()
        trace.storages = [] if keeps else None
        boxes = iter([box(r, w) for r, w in zip(raw, weak, strict=True)])
        args = [tree.unflatten(t, [next(boxes) for _ in range(t.num_leaves)]) for t in trees]
        leaves, treedef = tree.flatten(call_user(fn, *args))
        out.extend((treedef, tuple(is_weak(x) for x in leaves)))
        values = raw_leaves(leaves, treedef, lambda n: "an output")
        del boxes, args, leaves  # whatever still lives now is held outside
        left = tuple(s for made in trace.storages or () if type(s := made()) is Storage)
        out.append(left)
        return [*values, *(s.value for s in left)]

    jaxpr, consts = stage(flat, avals, name, bounds, eager_constants, arrays)
    leaks.check_jaxpr(f"the function of {name}", jaxpr)
    return Staged(jaxpr, consts, *out)


def go_on(left: Sequence[Storage], values: Sequence[Any]) -> None:
    """Let what a function has left in objects of outside be values of the current trace, in which the function's
    program was bound."""
    for storage, value in zip(left, values, strict=True):
        storage.value, storage.trace = value, current_trace()
        storage.cache.clear()


def with_output_dtypes(staged: Staged, dtypes: Sequence[np.dtype]) -> Staged:
    """The same with outputs converted to `dtypes`."""
    if all(a.dtype == d for a, d in zip(staged.out_avals, dtypes, strict=True)):
        return staged
    return Staged(_converted(staged.jaxpr, tuple(dtypes)), staged.consts, staged.out_tree, staged.weak)


@memoize_by_jaxpr
def _converted(jaxpr: Jaxpr, dtypes: tuple[np.dtype, ...]) -> Jaxpr:
    return with_outputs(jaxpr, lambda _env, outs: [convert(x, d) for x, d in zip(outs, dtypes, strict=True)])


def convert(x: Any, dtype: np.dtype) -> Any:
    """A raw value with another dtype."""
    if aval_of(x).dtype == dtype:
        return x
    if not isinstance(x, Value) and np.ndim(x) == 0:
        return dtype.type(x)
    return ops.create.convert_element_type(x, dtype=dtype)


def unaliased(outs: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
    """Results without memory of the operands or of each other: a write into one is seen nowhere else.

    Traced values have no memory; arrays are copied where they may overlap.
    """
    seen = [x for x in operands if isinstance(x, np.ndarray)]
    own = []
    for x in outs:
        if isinstance(x, np.ndarray):
            x = x.copy() if any(np.may_share_memory(x, y) for y in seen) else x
            seen.append(x)
        own.append(x)
    return own


def call_untraced(
    fun: Callable[..., Any], static: Sequence[int], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`fun(*args, **kwargs)` where nothing is traced, on copies of the arrays, so that what it updates in place is
    its own as it is under a trace. Arguments at the positions `static` are given as they are."""
    fixed = {n % len(args) for n in static} if args else set()
    given = [a if n in fixed else tree.map(_own, a) for n, a in enumerate(args)]
    return fun(*given, **{k: tree.map(_own, a) for k, a in kwargs.items()})


def _own(x: Any) -> Any:
    return x.copy(order="K") if type(x) is np.ndarray else x
