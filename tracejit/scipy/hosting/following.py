"""Functions of SciPy whose own Python code is traced, as the user's is.

SciPy computes much with NumPy alone: tests, spectra, distances, matrix equations. Such a function needs no form of
ours. Those that are known to be traced well are listed in `names`; the tests compare each with SciPy. A call that
can't be traced (options may lead elsewhere) is made as others are: the program calls SciPy.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes, tree
from tracejit import numpy as tnp
from tracejit.errors import ArgumentError, NotDifferentiableError, refusals
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.dispatch import LIBRARIES, plain
from tracejit.numpy.operands import judge_times
from tracejit.ops._lazy import scipy_module
from tracejit.scipy.hosting.updates import At
from tracejit.tracing import Box, call_user, caller, to_raw


def is_public(function: Any, name: str) -> bool:
    """Whether SciPy has `function` under its public name; others of its functions are parts of what is followed."""
    if isinstance(function, np.ufunc):
        return True
    module, _, short = name.rpartition(".")
    return not short.startswith("_") and getattr(sys.modules.get(module), short, None) is function


@functools.cache
def copy_of(function: types.FunctionType) -> types.FunctionType:
    """The same function as another object, for which nothing stands in."""
    made = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__module__, made.__qualname__ = function.__module__, function.__qualname__
    return made


def followed(function: Any, hosted: Callable[..., Any]) -> Callable[..., Any]:
    """`function` as traced code gets it: its own code, or else `hosted`, the call that a program makes.

    Eager transformations, which leave loops and branches to Python, take the code compiled where they can't run it."""

    own = copy_of(function)

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if not any(type(x) is Box for x in tree.leaves((args, kwargs))):
            return plain(function, args, kwargs)
        judge_times(function.__name__, (*args, *kwargs.values()))
        jitted = caller.compiled(own)
        for f in (own,) if jitted is None else (own, jitted):
            try:
                with refusals.attempt(Exception):
                    return known(call_user(f, *args, **kwargs))
            except NotDifferentiableError as error:
                if f is jitted or jitted is None:
                    refusals.add(error)
                    raise
            except Exception:
                continue
        return hosted(*args, **kwargs)

    return call


def known(out: Any) -> Any:
    """A result of SciPy's own class (a named tuple with more fields, or an object that holds values) is a tree now."""
    cls = type(out)
    if not cls.__module__.startswith("scipy.") or cls.__hash__ is None or cls in _TREES:
        return out
    if issubclass(cls, tuple):
        if hasattr(out, "__dict__"):  # other named tuples are trees as they are
            known_class(cls)
    elif set(vars(out)).isdisjoint(("__dict__",)):
        known_object(out)
    return out


def known_object(x: Any) -> Any:
    """An object of SciPy's whose class is one of trees now."""
    cls = type(x)
    if cls not in _TREES and not dataclasses.is_dataclass(cls):
        _TREES.add(cls)
        tree.register(cls, _parts_of_object, functools.partial(_object_of, cls))
    return x


def known_class(cls: type) -> None:
    """A class of named tuples of SciPy's is one of trees now, and may be the result of a branch."""
    if cls not in _TREES:
        _TREES.add(cls)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it has been a tree without its other fields
            tree.register(cls, _parts_of_tuple, functools.partial(_tuple_of, cls))


def know_results(function: Any) -> None:
    """The classes of named tuples with more fields in the module of `function` are known from now on."""
    for value in vars(sys.modules.get(getattr(function, "__module__", ""), sys)).values():
        if isinstance(value, type) and hasattr(value, "_extra_fields"):
            known_class(value)


#: Classes of SciPy's results that are trees by now.
_TREES: set[type] = set()


def _is_value(x: Any) -> bool:
    return isinstance(x, (Box, np.ndarray, np.generic, bool, int, float, complex))


def _parts_of_object(x: Any) -> tuple[list[Any], Any]:
    """The values that it holds, and the rest."""
    held = vars(x)
    names = tuple(n for n, v in held.items() if _is_value(v))
    return [held[n] for n in names], (names, tuple((n, v) for n, v in held.items() if n not in names))


def _object_of(cls: type, rest: Any, values: Any) -> Any:
    made = object.__new__(cls)
    vars(made).update(zip(rest[0], values, strict=True))
    vars(made).update(rest[1])
    return made


def _parts_of_tuple(x: Any) -> tuple[list[Any], Any]:
    values, rest = _parts_of_object(x) if hasattr(x, "__dict__") else ([], ((), ()))
    return [*x, *values], (len(x), rest)


def _tuple_of(cls: type, rest: Any, values: Any) -> Any:
    count, (names, others) = rest
    items = list(values)
    made = tuple.__new__(cls, items[:count])
    if names or others:
        vars(made).update(zip(names, items[count:], strict=True))
        vars(made).update(others)
    return made


def rankdata(x: Any, method: str, return_ties: bool = False, xp: Any = None) -> Any:
    """The ranks along the last axis, from 1; and where elements are equal, at the first of them in order, how many."""
    x = tnp.asarray(x)
    n = x.shape[-1]
    order = tnp.argsort(x, axis=-1, stable=True)
    back = tnp.argsort(order, axis=-1, stable=True)
    kind = float if method == "average" else np.int64
    place = tnp.broadcast_to(tnp.arange(n), x.shape)
    if method == "ordinal":
        return tnp.take_along_axis(place + 1, back, axis=-1).astype(kind)
    y = tnp.take_along_axis(x, order, axis=-1)
    change = y[..., 1:] != y[..., :-1]
    edge = tnp.ones((*x.shape[:-1], 1), bool)
    first, last = tnp.concatenate([edge, change], axis=-1), tnp.concatenate([change, edge], axis=-1)
    start = tnp.maximum.accumulate(tnp.where(first, place, 0), axis=-1)
    stop = tnp.minimum.accumulate(tnp.where(last, place, n)[..., ::-1], axis=-1)[..., ::-1]
    ranks = {
        "min": start + 1,
        "max": stop + 1,
        "average": (start + stop) / 2 + 1,
        "dense": tnp.cumsum(first, axis=-1),
    }[method]
    ranks = tnp.take_along_axis(ranks, back, axis=-1).astype(kind)
    return (ranks, tnp.where(first, stop - start + 1, 0).astype(float)) if return_ties else ranks


# ---------------------------------------------------------------- what SciPy's functions ask before they compute


def _array_namespace(*arrays: Any, **options: Any) -> Any:
    """A traced array is one of NumPy's."""
    return _STANDARD


def _argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The array API's, which keeps the order of equal elements where NumPy's does not."""
    if descending:
        raise ArgumentError(name="argsort", problem="a descending order has no traced form")
    return tnp.argsort(x, axis=axis, kind="stable" if stable else None)


#: NumPy's names as the array API has them.
_STANDARD = types.ModuleType(tnp.__name__)
vars(_STANDARD).update(__getattr__=lambda name: getattr(tnp, name), argsort=_argsort)


def contains_nan(a: Any, nan_policy: str = "propagate", **options: Any) -> bool:
    """None does: a call with one is left to Python."""
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError("nan_policy must be one of {'propagate', 'raise', 'omit'}.")
    x = tnp.asarray(a)
    if dtypes.is_inexact(x.dtype):
        leave_if(to_raw(tnp.any(tnp.isnan(x))), "what a function of SciPy's makes of NaN")
    return False


def _asarray_validated(
    a: Any,
    check_finite: bool = True,
    sparse_ok: bool = False,
    objects_ok: bool = False,
    mask_ok: bool = False,
    as_inexact: bool = False,
) -> Any:
    """An array. What is not finite is left to Python, which raises ValueError."""
    x = tnp.asarray(a)
    x = x.astype(float) if as_inexact and not dtypes.is_inexact(x.dtype) else x
    if check_finite and dtypes.is_inexact(x.dtype):
        leave_if(to_raw(tnp.any(~tnp.isfinite(x))), "an error of SciPy's about infinite numbers")
    return x


def _size(x: Any) -> int:
    return tnp.asarray(x).size


def _asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None, **options: Any) -> Any:
    """The array API's `asarray`, which copies where `copy` is true."""
    return tnp.array(obj, dtype, copy=True) if copy else tnp.asarray(obj, dtype, **options)


_FORMS = {
    "asarray": _asarray,
    "is_writeable_array": lambda x: x.flags.writeable,
    "array_namespace": _array_namespace,
    "xp_size": _size,
    "size": _size,
    "_contains_nan": contains_nan,
    "_asarray_validated": _asarray_validated,
    "is_complex": lambda x, xp: dtypes.is_complex(x.dtype),
}
_QUESTIONS = frozenset(
    [
        "is_numpy",
        "is_cupy",
        "is_torch",
        "is_jax",
        "is_dask",
        "is_array_api_strict",
        "is_lazy_array",
        "is_marray",
    ]
)
#: Helpers that compute from shapes alone, and run as they are.
_OF_SHAPES = {"stats._axis_nan_policy": ("_broadcast_shapes", "_broadcast_shapes_remove_axis")}
_YES = frozenset(["is_numpy", "is_numpy_namespace", "is_numpy_array", "is_array_api_obj"])


def _brought(name: str) -> Any:
    """A module of the array API's packages that SciPy brings along: in `_external` since 1.18, in `_lib` before."""
    try:
        return scipy_module(f"_external.{name}")
    except ModuleNotFoundError:
        return scipy_module(f"_lib.{name}")


def _entries(module: Any) -> dict[Any, Any]:
    """The forms of SciPy's helpers. Some of them remember by class what they were asked, which traces can't follow."""
    entries = _of_modules(
        module,
        _brought("array_api_compat.common._helpers"),
        _brought("array_api_compat.numpy._aliases"),
        scipy_module("_lib._array_api_override"),
        scipy_module("_lib._util"),
    )
    for place, names in _OF_SHAPES.items():
        home = sys.modules.get(f"scipy.{place}")
        entries |= {f: functools.partial(f) for f in (getattr(home, n, None) for n in names) if f is not None}
    ranks = getattr(sys.modules.get("scipy.stats._stats_py"), "_rankdata", None)
    entries[_brought("array_api_extra").at] = At
    return entries if ranks is None else entries | {ranks: rankdata}


def _of_modules(*places: Any) -> dict[Any, Any]:
    """The forms of what these modules have."""
    entries: dict[Any, Any] = {}
    for place in places:
        for name, value in vars(place).items():
            if name in _FORMS:
                entries[value] = _FORMS[name]
            elif name in _QUESTIONS or (name.startswith("is_") and name.endswith(("_namespace", "_array"))):
                entries.setdefault(value, functools.partial(_answered, name in _YES))
    return entries


def _of_compat(module: Any) -> dict[Any, Any]:
    """The same for the array API's package itself, which other libraries ask."""
    parts = ("common._helpers", "numpy._aliases")
    return _of_modules(module, *(importlib.import_module(f"{module.__name__}.{part}") for part in parts))


def _answered(answer: bool, *asked: Any) -> bool:
    return answer


LIBRARIES["scipy._lib._array_api"] = _entries
LIBRARIES["array_api_compat"] = _of_compat
