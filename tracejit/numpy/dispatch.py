"""How a NumPy name becomes a traced one: the table, the plain-input path, promotion.

`@implements(np.f)` registers a function of boxes, arrays and scalars under
NumPy's own function. When no argument is traced it is not even called: NumPy is.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tracejit import dtypes
from tracejit.errors import ArgumentTypeError, OutputCastError, UnsupportedFunctionError
from tracejit.ir.elsewhere import TYPES, is_elsewhere
from tracejit.lazily import LazyModule
from tracejit.numpy.boxes.layouts import as_numpys
from tracejit.numpy.boxes.memory import new_of
from tracejit.numpy.operands import (
    SUBCLASSES,
    arrays_of,
    caller_of,
    check_output,
    dtype_of,
    has_box,
    has_times,
    shape_of,
    store,
)
from tracejit.tracing import STATE, Box, is_tracing, shown, unbox

_eager: Any = LazyModule("tracejit.interpreters.jit_cuda.eager")
_structured: Any = LazyModule("tracejit.numpy.structured")

F = TypeVar("F", bound=Callable[..., Any])

#: Another library -> what makes a traced form of a function of it that has none, or gives None.
OTHERS: dict[str, Callable[[Any], Callable[..., Any] | None]] = {}
#: Another library -> function that says which counterpart an object of its classes has (an `Adopted`), or None.
OBJECTS: dict[str, Callable[[Any], Any]] = {}
#: Name of another library's module -> function that gives what enters the table once the module is loaded.
LIBRARIES: dict[str, Callable[[Any], dict[Any, Callable[..., Any]]]] = {}


class Adopted(NamedTuple):
    """How the counterpart of a library's object is made: by `make`, of what lies at paths of attributes, items and keys
    (`"args.0"`). Numbers and arrays may become operands of the program, settings are constants of it. `back` writes
    into the object what an eager transformation has written into the counterpart."""

    values: tuple[str, ...]
    settings: tuple[str, ...]
    make: Callable[..., Any]
    back: Callable[[Any, Any, Callable[[Any], Any]], None] | None = None


class Functions(dict[Any, Callable[..., Any]]):
    """A library's function -> ours. For one that is not there, libraries are asked that were imported in the
    meantime, as far as the function says that it is of theirs, or nothing (as ufuncs do)."""

    def __missing__(self, key: Any) -> Callable[..., Any]:
        module = getattr(key, "__module__", None)
        root = module.partition(".")[0] if isinstance(module, str) else ""
        for name in [n for n in LIBRARIES if n in sys.modules]:
            if not root or root == name.partition(".")[0]:
                entries = LIBRARIES[name](sys.modules[name])
                LIBRARIES.pop(name, None)
                for function, ours in entries.items():
                    self.setdefault(function, ours)
        if key not in self:
            made = self._made(key, root)
            if made is None:
                raise KeyError(key)
            self[key] = made
        return super().__getitem__(key)

    def _made(self, key: Any, root: str) -> Any:
        """The traced form of a function that has none of its own."""
        if isinstance(key, np.ufunc):
            root = next(
                (n for n in OTHERS if getattr(sys.modules.get(f"{n}.special"), key.__name__, None) is key), ""
            )
        make = OTHERS.get(root)
        return None if make is None else make(key)

    def get(self, key: Any, default: Any = None) -> Any:
        found = super().get(key)
        if found is None and (LIBRARIES or OTHERS):
            try:
                return self[key]
            except KeyError:
                return default
        return default if found is None else found


#: NumPy's function or ufunc -> ours. `__array_function__` and the rebinding of user code read it.
NUMPY_TO_TRACEJIT: Functions = Functions()
#: NumPy's function -> how it takes what a traced mask selected, filled by boxes/masking/calls:
#: `way(ours, args, kwargs)` gives None where it has nothing to say.
WAYS: dict[Any, Callable[..., Any]] = {}
#: NumPy's function -> ours of dates and times, filled by times/calls; None where that is the same. Others refuse them.
OF_TIMES: dict[Any, Callable[..., Any] | None] = {}
#: Keyword arguments that only our functions take: the length of a result that depends on values, as in JAX.
EXTENSIONS = frozenset({"size", "fill_value", "length", "strip_zeros", "total_repeat_length"})
#: Functions that make arrays, and take `device` as NumPy's do.
DEVICES = frozenset(
    ("arange", "asarray", "empty", "empty_like", "eye", "full", "full_like", "linspace")
    + ("ones", "ones_like", "zeros", "zeros_like")
)
#: Public name -> function, for `tracejit.numpy`'s namespace.
NAMES: dict[str, Any] = {}


def implements(
    np_function: Callable[..., Any] | None, *names: str, arrays: bool | None = None
) -> Callable[[F], F]:
    """Register a traced implementation of `np_function`, also under other `names`.

    The result calls NumPy when no argument holds a box. `out=` is handled here. `arrays`: whether what
    NumPy's function gives without dimensions is an array or a scalar, where it is not as `fn` gives it.
    """

    def register(fn: F) -> F:
        fn.__qualname__ = fn.__name__  # Python's "unexpected keyword argument" names it
        placed = fn.__name__ in DEVICES

        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not (has_box(args) or (kwargs and has_box(kwargs.values()))):
                if np_function is None or not EXTENSIONS.isdisjoint(kwargs):
                    return fn(*args, **kwargs)
                return plain(np_function, args, kwargs)
            if STATE.numbers is not None:
                STATE.numbers.check_function(fn.__name__, args)
            if SUBCLASSES and (caller := caller_of((*args, *kwargs.values()))) is not None:
                return caller(np_function, fn, args, kwargs)
            args = arrays_of(args)
            if len(args) > 1:
                place, parameters = _out_place(np_function)
                if len(args) > len(parameters) and place < sys.maxsize:
                    raise ArgumentTypeError(name=fn.__name__, problem=f"{len(args)} arguments are too many")
                if len(args) > place:  # `out` by position, and what follows it
                    kwargs |= zip(parameters[place:], args[place:], strict=False)
                    args = args[:place]
            out = kwargs.pop("out", None)
            if placed:
                judge_device(kwargs.pop("device", None))
            ours = _of_times(np_function, fn, args, kwargs) if dtypes.TIMES else fn
            way = WAYS.get(np_function) if ours is fn else None
            result = None if way is None else way(fn, args, kwargs)
            if result is None:
                result = ours(*args, **kwargs)
            if arrays is not None and type(result) is Box and all(result is not a for a in args):
                result.scalar = not (arrays or result.aval.shape)
            if out is None or out is np._NoValue:
                ordered = np_function is np.einsum or _asks_order(args, kwargs)
                return as_numpys(np_function, args, kwargs, result, ordered)
            judge_output(np_function, result, out)
            broadcasts = isinstance(np_function, np.ufunc) or np_function is np.clip
            rule = "unsafe" if np_function in _COPIED and dtype_of(result).kind != "c" else "same_kind"
            stored = store(out, result, fn.__name__, rule, fits=not broadcasts)
            return result if np_function is np.dot and not shape_of(result) else stored  # as NumPy's

        return publish(np_function, call, fn.__name__, *names)  # type: ignore[return-value]

    return register


def _of_times(np_function: Any, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `fn` is for these arguments, among which there may be dates and times.

    Raises:
        UnsupportedFunctionError: there are, and no form of the function takes them.
    """
    if not has_times((*args, *kwargs.values())):
        return fn
    if np_function not in OF_TIMES:
        raise UnsupportedFunctionError(name=f"numpy.{fn.__name__} of dates and times")
    return OF_TIMES[np_function] or fn


def _asks_order(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether an order of memory is named that may not be C's."""
    if kwargs and kwargs.get("order") in ("F", "f", "A", "a"):
        return True
    return any(type(a) is str and a in "FfAa" for a in args)


#: They write into a copy of `out` in the result's dtype, which is then copied back.
_COPIED = (np.take, np.compress)


def judge_output(np_function: Any, result: Any, out: Any) -> None:
    """Raises where a function of NumPy's asks more of the dtype of `out` than the others do."""
    if type(out) is not Box or dtype_of(result) == out.aval.dtype:
        return
    source, target = dtype_of(result), out.aval.dtype
    if np_function in _COPIED:
        check_output(np_function.__name__, target, source, "safe")
    elif np_function is np.einsum:
        check_output("einsum", source, target, "safe")
    elif np_function is np.dot:
        raise OutputCastError(name="dot", source=source, target=target, rule="no")


@functools.cache
def _out_place(np_function: Any) -> tuple[int, list[str]]:
    """Where NumPy's function takes `out` by position (far away if nowhere), and its positional parameters."""
    if np_function is None or isinstance(np_function, np.ufunc):
        return sys.maxsize, []
    try:
        parameters = inspect.signature(np_function).parameters.values()
    except (TypeError, ValueError):  # compiled functions without a signature
        return sys.maxsize, []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return (names.index("out"), names) if "out" in names else (sys.maxsize, names)


#: They take the dtype of their argument.
_LIKE = (np.zeros_like, np.ones_like, np.empty_like)


def creates(np_function: Callable[..., Any], *names: str) -> Callable[[F], F]:
    """Like `implements`, for functions whose results are boxes whenever something is traced."""

    def register(fn: F) -> F:
        place = 2 if np_function is np.full else 1  # of the dtype

        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            # Rules of custom functions may run on boxes where nothing is traced any more.
            if not is_tracing() and not has_box(args):
                if TYPES and (there := next(filter(is_elsewhere, args), None)) is not None:
                    made = unbox(fn(*args, **kwargs))  # NumPy's would copy them
                    return _eager.beside(there, made) if type(made) is np.ndarray else made
                return np_function(*args, **kwargs)
            if SUBCLASSES and (caller := caller_of((*args, *kwargs.values()))) is not None:
                return caller(np_function, fn, args, kwargs)
            kwargs.pop("like", None)
            given = kwargs["dtype"] if "dtype" in kwargs else args[place] if len(args) > place else None
            if given is None and np_function in _LIKE and args and isinstance(args[0], np.ndarray):
                given = args[0].dtype
            if given is not None and (structure := dtypes.structure_of(given)) is not None:
                return _structured.made(np_function, structure, args, kwargs)
            ours = _of_times(np_function, fn, args, kwargs) if dtypes.TIMES else fn
            judge_device(kwargs.pop("device", None))
            ordered = np_function is np.asfortranarray or _asks_order(args, kwargs)
            return as_numpys(np_function, args, kwargs, dtypes.asked(ours, *args, **kwargs), ordered)

        return publish(np_function, call, fn.__name__, *names)  # type: ignore[return-value]

    return register


def judge_device(device: Any) -> None:
    """Raises what NumPy raises for a device: "cpu" is the only one that it has."""
    if device is not None:
        np.empty(0, device=device)


def _with_device(fn: Any) -> inspect.Signature:
    """A function's signature with `device`, which it is called without."""
    signature = inspect.signature(fn)
    own = list(signature.parameters.values())
    more = [p for p in own if p.kind is p.VAR_KEYWORD]
    device = inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default=None)
    return signature.replace(parameters=[*(p for p in own if p not in more), device, *more])


def publish(np_function: Any, fn: Any, *names: str) -> Any:
    """Enter `fn` into the tables."""
    if np_function is not None and not fn.__doc__:
        fn.__doc__ = f"`numpy.{np_function.__name__}`, for traced values too."
    if np_function is not None:
        NUMPY_TO_TRACEJIT[np_function] = fn
    if DEVICES.intersection(names):
        fn.__signature__ = _with_device(fn)
    for name in names:
        known = getattr(np, name, np_function)
        if known is not np_function and (name in NAMES or isinstance(known, types.ModuleType)):
            continue  # a namesake in numpy.linalg, such as outer, or np.fft.fft, does not replace NumPy's own
        NAMES[name] = fn
    return fn


def plain(np_function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """NumPy's own function. While tracing, a new array it makes is boxed, so that it can be assigned into."""
    try:
        result = dtypes.asked(np_function, *args, **kwargs) if is_tracing() else np_function(*args, **kwargs)
    except TypeError:
        if TYPES and not is_tracing() and any(map(is_elsewhere, args)):
            ours = NUMPY_TO_TRACEJIT.get(np_function)
            if ours is not None:
                return _there(ours, args, kwargs)
        for x in (*args, *kwargs.values()):
            hasattr(x, "__array__")  # what can't be followed says so
        raise
    if not is_tracing() or "out" in kwargs or type(result) is not np.ndarray:
        return result
    fresh = result.dtype.kind in "biufcmM" and _is_new(result, (*args, *kwargs.values()))
    return new_of(result) if fresh else result


def _there(ours: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of ours of arrays on a device, which the library's function does not take."""
    result = ours(*[shown(x) if is_elsewhere(x) else x for x in args], **kwargs)
    return type(result)(map(unbox, result)) if type(result) in (list, tuple) else unbox(result)


def _is_new(x: np.ndarray, given: Iterable[Any]) -> bool:
    """Whether `x` was made of what was `given`, and is no part of it. NumPy's own functions give views of what
    they have made, too."""
    if x.flags.owndata:
        return not any(x is a for a in given)
    return x.flags.writeable and all(_is_apart(x, a) for a in given)


def _is_apart(x: np.ndarray, a: Any) -> bool:
    if isinstance(a, np.ndarray):
        return not np.may_share_memory(x, a)
    if isinstance(a, (list, tuple)):
        return all(_is_apart(x, b) for b in a)
    return a is None or isinstance(a, (bool, int, float, complex, str, slice, np.generic, np.dtype, type))


# ---------------------------------------------------------------- operands
