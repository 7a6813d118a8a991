"""Named sizes of exported programs: arguments of the program before those of the function.

A size that is a name is an integer that the program gets with each call. Types of arrays refer to it as an extent, so
that axes of one name are equally long to everything that traces, and axes of different names are not known to be.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.api.common import argument_names
from tracejit.api.exporting.structures import Differs
from tracejit.api.introspect import Extent, ShapeDtypeStruct, Sized, size_terms
from tracejit.api.jit.jitted import Jitted
from tracejit.api.running import run_user
from tracejit.interpreters.stage import ArgRef
from tracejit.ir.avals import Dim


def names_in(x: Any) -> list[str]:
    """The named sizes of the types in arguments, in the order in which they are first met."""
    if isinstance(x, ShapeDtypeStruct):
        return list(dict.fromkeys(n for n in x.shape if type(n) is str))
    if isinstance(x, dict):
        x = list(x.values())
    found = [n for part in x for n in names_in(part)] if isinstance(x, (tuple, list)) else []
    return list(dict.fromkeys(found))


def replaced(x: Any, sizes: dict[str, Any]) -> Any:
    """Arguments with `sizes` in the places of names."""
    if isinstance(x, ShapeDtypeStruct) and any(type(n) is str for n in x.shape):
        return Sized([sizes.get(n, n) for n in x.shape], x.dtype)
    made: Any = type(x)
    if made in (tuple, list):
        return made([replaced(part, sizes) for part in x])  # type: ignore[union-attr]
    if isinstance(x, dict):
        new = copy.copy(x)
        new.update((k, replaced(v, sizes)) for k, v in x.items())
        return new
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return made(*(replaced(v, sizes) for v in x))
    return x


def with_sizes(
    function: Jitted, names: Sequence[str], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Jitted, tuple[Any, ...], dict[str, Any]]:
    """A function with a tuple of the sizes as its first argument, and types of the others that refer to them."""
    fun, options = function.fun, copy.copy(function.options)
    options.static_nums = frozenset(n + 1 for n in options.static_nums)

    @functools.wraps(fun)
    def sized(_sizes: Any, *given: Any, **named: Any) -> Any:
        return run_user(fun, given, named)

    known = [n.strip("`").replace(" ", "_") for n in argument_names(fun, len(args))]
    sized.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in ("_tj_sizes", *known)]
        + [inspect.Parameter("_tj_named", inspect.Parameter.VAR_KEYWORD)]
    )
    refs = {name: Dim(ArgRef(n), None) for n, name in enumerate(names)}
    sizes = tuple(Extent() for _ in names)
    return Jitted(sized, options), (sizes, *replaced(args, refs)), replaced(kwargs, refs)


def shown(shape: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """A shape with the names of sizes that are arguments."""
    return [names[d.var.index] if isinstance(d, Dim) and type(d.var) is ArgRef else d for d in shape]


def find(arguments: Sequence[Any], leaves: Sequence[Any], names: Sequence[str]) -> list[int]:
    """The sizes that the arrays of a call have. Raises Differs where they do not agree."""
    found: dict[str, tuple[int, str, int]] = {}
    for a, x in zip(arguments, leaves, strict=True):
        if not a.named:
            continue
        shape = np.shape(x) if isinstance(x, np.ndarray) else None
        if shape is None or len(shape) != len(a.shape):
            have = type(x).__name__ if shape is None else f"{x.dtype.name}[{','.join(map(str, shape))}]"
            raise Differs(f"{a.name} is {have}, where it was {a}")
        for axis, (n, size) in enumerate(zip(a.shape, shape, strict=True)):
            if type(n) is not str:
                continue
            first, name, place = found.setdefault(n, (size, a.name, axis))
            if first != size:
                what = f"{a.name} has {size} elements along axis {axis}"
                raise Differs(f"{what}, but {n} is {first} by axis {place} of {name}")
    _solve({n: (*place, size_terms(n) or (1, n, 0)) for n, place in found.items()})
    return [found[n][0] for n in names]


def _solve(found: dict[str, tuple[int, str, int, tuple[int, str, int]]]) -> None:
    """Raises Differs where sizes such as `2*n` are those of no `n`, or of several."""
    known = {n: size for n, (size, *_, terms) in found.items() if terms == (1, n, 0)}
    for text, (size, name, axis, (times, n, more)) in found.items():
        if n not in known and size >= more and (size - more) % times == 0:
            known[n] = (size - more) // times
        if known.get(n, -1) * times + more != size or n not in known:
            which = f", where {n} is {known[n]}" if n in known else ""
            raise Differs(f"{name} has {size} elements along axis {axis}, which is not {text}{which}")
