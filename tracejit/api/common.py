"""What the public transformations share: calling the user's function, naming arguments, checking dtypes."""

from __future__ import annotations

import functools
import gc
import inspect
import sys
import types
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, tree
from tracejit.api.running import run_user
from tracejit.control.regions.staging import is_weak, raw_leaves
from tracejit.errors import ArgumentCountError, NonFloatInputError, NonFloatOutputError
from tracejit.ir.avals import aval_of
from tracejit.ir.elsewhere import is_elsewhere
from tracejit.lazily import LazyModule
from tracejit.numpy.boxes.memory import c_strides, layout_of, strides_of
from tracejit.tracing import Box, Storage, box, current_trace, wrap

#: Imports Numba, when Numba has asked.
_numba_types: Any = LazyModule("tracejit.api.foreign.numba_types")


def name_of(f: Any) -> str:
    """How messages call the function."""
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None)
    if name is None and isinstance(f, functools.partial):
        return name_of(f.func)
    return name or object.__repr__(f)  # its own may make text of traced values


def argument_names(f: Any, count: int) -> list[str]:
    """The names of the first `count` positional parameters, `argument 3` where there are none."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [f"`{positional[n]}`" if n < len(positional) else f"argument {n}" for n in range(count)]


def misfit(f: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> str | None:
    """Why the function can't be called with these arguments, in Python's words; None if it can, as far as is known."""
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*args, **kwargs)
    except TypeError as e:
        return str(e)
    return None


def normalize_argnums(
    transformation: str, f: Any, argnums: int | Sequence[int], count: int
) -> tuple[int, ...]:
    """Argument positions as non-negative ints. Raises ArgumentCountError."""
    nums = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for n in nums:
        if not -count <= n < count:
            raise ArgumentCountError(
                transformation=transformation, argnums=argnums, function=name_of(f), count=count
            )
    return tuple(n % count for n in nums)


class FlatFunction:
    """A user's function as `raw leaves -> raw leaves`: unflattens into fresh boxes (the function's own
    copies), calls, flattens. After a call `out_tree` and `aux` hold the structure and auxiliary result. `given`: the
    arrays, or boxes, that the leaves are the values of; they say how these lie in memory."""

    def __init__(
        self,
        f: Callable[..., Any],
        in_tree: Any,
        kwargs: dict[str, Any],
        weak: Sequence[bool],
        has_aux: bool = False,
        given: Sequence[Any] = (),
    ) -> None:
        self.f = f
        self.in_tree = in_tree
        self.kwargs = kwargs
        self.weak = weak
        self.has_aux = has_aux
        self.given = given
        self.out_tree: Any = None
        self.aux: Any = None

    def __call__(self, *raw: Any) -> list[Any]:
        boxes = [box(x, w) for x, w in zip(raw, self.weak, strict=True)]
        known = [*zip(self.given, boxes, strict=True)] if self.given else []
        for x, own in known:
            own.storage.layout = _layout(x)
        out = run_user(self.f, tree.unflatten(self.in_tree, boxes), self.kwargs, self.has_aux)
        for x, own in known:
            if type(x) is Box:  # a program depends on it, if the function does
                x.storage.order_read = x.storage.order_read or own.storage.order_read
                x.storage.layout_read = x.storage.layout_read or own.storage.layout_read
        if self.has_aux:
            out, self.aux = self._split_aux(out)
        leaves, self.out_tree = tree.flatten(out)
        values = raw_leaves(leaves, self.out_tree, lambda n: f"the result of {name_of(self.f)}")
        for x, own in known:
            _hand_back(x, own)
        return values

    def _split_aux(self, out: Any) -> tuple[Any, Any]:
        if not isinstance(out, tuple) or len(out) != 2:
            raise TypeError(
                f"has_aux=True: {name_of(self.f)} must return a pair (result, aux), not {type(out).__name__}"
            )
        return out


def _hand_back(x: Any, own: Box) -> None:
    """Let the function's own copy of an argument that it has not written into be the caller's array again, which it is
    to Python wherever the function has kept it, or a part of it."""
    storage = own.storage
    if type(x) is not Box or x.scalar or x.weak or type(storage) is not Storage or storage.version:
        return
    own.storage, own.chain, own.identity = x.storage, x.chain, x.identity
    if (
        current_trace().staged and sys.getrefcount(storage) > 2
    ):  # else what is kept becomes NumPy's in the end
        for part in gc.get_referrers(storage):
            if type(part) is Box:
                part.storage, part.chain = x.storage, (*x.chain, *part.chain)


def _layout(x: Any) -> tuple[int, ...] | None:
    """The strides in elements of an array or box that is not in C order: `x.ravel(order="K")` asks for them."""
    if type(x) is not Box:
        return layout_of(x)
    if type(x.storage) is not Storage or not x.chain:
        return x.storage.layout
    strides = strides_of(aval_of(x.storage.value).shape, x.storage.layout, x.chain)
    return None if strides == c_strides(x.aval.shape) else strides


def is_scalar(x: Any) -> bool:
    """Is the leaf a number, which `x += 1` rebinds, and not an array, which it updates?"""
    return x.scalar if type(x) is Box else isinstance(x, (bool, int, float, complex, np.generic))


def flatten_args(args: tuple[Any, ...]) -> tuple[list[Any], Any, list[bool]]:
    """(raw leaves, structure, weak flags) of positional arguments."""
    leaves, structure = tree.flatten(args)
    return raw_leaves(leaves, structure, lambda n: "an argument"), structure, [is_weak(x) for x in leaves]


def plain(raw: Any, weak: bool = False) -> Any:
    """A raw result for the user: arrays and NumPy scalars when evaluating, boxes while tracing, which stand for
    Python's numbers if they are `weak`."""
    return wrap(raw[()] if getattr(raw, "shape", None) == () and not hasattr(raw, "aval") else raw, weak)


def fresh(raw: Any, held: Container[int] = ()) -> Any:
    """`plain`, for derivatives: never a view of, or the same as, an array that the caller or the linear
    program (those whose ids are in `held`) still has. The gradient of `x * y` is `y`, but not the caller's."""
    is_host = type(raw) is np.ndarray
    if (is_host and (raw.base is not None or not raw.flags.writeable)) or (
        (is_host or is_elsewhere(raw)) and id(raw) in held
    ):
        raw = raw.copy()
    return plain(raw)


def check_input(
    transformation: str, name: str, x: Any, holomorphic: bool = False, allow_int: bool = False
) -> None:
    """Raises NonFloatInputError for inputs without a derivative."""
    d = aval_of(x).dtype
    if holomorphic:
        if not dtypes.is_complex(d):
            raise NonFloatInputError(transformation=transformation, needed="complex", argument=name, dtype=d)
    elif dtypes.is_complex(d):
        pass
    elif not dtypes.is_inexact(d) and not allow_int:
        raise NonFloatInputError(transformation=transformation, needed="float", argument=name, dtype=d)


def check_output(transformation: str, f: Any, x: Any, holomorphic: bool) -> None:
    """Raises NonFloatOutputError for outputs without a gradient."""
    d = aval_of(x).dtype
    needed = "complex" if holomorphic else "float"
    if (not dtypes.is_complex(d)) if holomorphic else not dtypes.is_float(d):
        raise NonFloatOutputError(transformation=transformation, needed=needed, function=name_of(f), dtype=d)


class Attributed:
    """A jitted function, which users may give attributes as they may a plain one."""

    fun: Any
    #: What every one has.
    _OWN = frozenset(
        ("fun", "options", "python", "trace_count", "retraces", "elsewhere", "__wrapped__", "__dict__")
        + ("_varying", "_programs", "_fast", "_near", "_own")
    )

    @property
    def _numba_type_(self) -> Any:
        """What Numba asks objects for that it does not know."""
        return _numba_types.type_of(self)

    def users_attributes(self) -> dict[str, Any]:
        """The attributes that the user gave to the function."""
        held = {} if type(self.fun) is types.FunctionType else getattr(self.fun, "__dict__", {})
        named = {n: getattr(self.fun, n, None) for n in functools.WRAPPER_ASSIGNMENTS}
        copied = {
            n for n, x in {**held, **named}.items() if vars(self).get(n) is x
        }  # by functools.update_wrapper
        return {n: x for n, x in vars(self).items() if n not in self._OWN | copied}
