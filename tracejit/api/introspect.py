"""Looking at programs without running them: make_jaxpr, eval_shape, ShapeDtypeStruct; and running without jit."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, tree
from tracejit.api.common import is_weak, name_of, plain
from tracejit.api.running import run_user
from tracejit.api.tracebacks import door
from tracejit.config import config
from tracejit.control.transformed import transformed
from tracejit.errors import ExportedSizeError, FunctionNeededError
from tracejit.interpreters import leaks
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.stage import stage_fun
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.jaxpr import ClosedJaxpr
from tracejit.lazily import LazyModule
from tracejit.tracing import Box, to_raw

_devices: Any = LazyModule("tracejit.interpreters.jit_cuda.device")
#: What arrays have that may be on a device.
_SHARED = ("__cuda_array_interface__", "__dlpack_device__")

_LIKE = (np.zeros_like, np.ones_like, np.empty_like, np.full_like)
_OF_TYPES = (*_LIKE, np.shape, np.ndim, np.size, np.result_type, np.iscomplexobj, np.isrealobj)


class ShapeDtypeStruct:
    """The shape and dtype of an array that need not exist. Hashable; usable wherever only types matter.

    Sizes that are names, `ShapeDtypeStruct(("n", 3), float)`, are for `export`: any number, where the same name is the
    same number.

    Raises UnknownDtypeError for a dtype that is not numeric, ExportedSizeError for text that is no name.
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: Sequence[int | str], dtype: Any) -> None:
        self.shape: tuple[Any, ...] = tuple([size_name(n) if isinstance(n, str) else int(n) for n in shape])
        self.dtype = dtypes.canonical(dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.numbers(), dtype=np.int64))

    def numbers(self) -> tuple[int, ...]:
        """The shape. Raises ExportedSizeError where a size is a name."""
        for n in self.shape:
            if type(n) is str:
                problem = f"the size {n!r} of an argument is a name, which only `tj.export` takes"
                raise ExportedSizeError(problem=problem)
        return self.shape

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """For NumPy's functions of types, such as `zeros_like`: the result for such an array. Others need an array."""
        if function not in _OF_TYPES:
            return NotImplemented
        args = [
            np.broadcast_to(np.zeros((), x.dtype), x.numbers()) if isinstance(x, ShapeDtypeStruct) else x
            for x in args
        ]
        if function in _LIKE:
            kwargs = {"order": "C", **kwargs}
        return function(*args, **kwargs)  # type: ignore[call-overload]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name})"


def size_name(size: str) -> str:
    """A size that is a name, or a multiple of one and a number: `n`, `2*n`, `n+1`. Raises ExportedSizeError."""
    terms = size_terms(size)
    if terms is None or not terms[0]:
        raise ExportedSizeError(problem=f"the size {size!r} is neither a number nor a name")
    return "".join(size.split())


_SIZE = re.compile(r"\s*(?:(\d+)\s*\*\s*)?([^\W\d]\w*)(?:\s*([+-])\s*(\d+))?\s*")


def size_terms(size: str) -> tuple[int, str, int] | None:
    """(a, n, b) of a size `a*n+b`; None for other text."""
    m = _SIZE.fullmatch(size)
    return None if m is None else (int(m[1] or 1), m[2], int(f"{m[3] or ''}{m[4] or 0}"))


class Extent(ShapeDtypeStruct):
    """The type of an argument that is a size of others: an integer that is not negative."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__((), np.int64)


class Sized(ShapeDtypeStruct):
    """The type of an array some of whose sizes are other arguments (`Dim`s of these)."""

    __slots__ = ()

    def __init__(self, shape: Sequence[Any], dtype: Any) -> None:
        super().__init__((), dtype)
        self.shape = tuple(shape)

    def numbers(self) -> tuple[Any, ...]:
        return self.shape


def leaf_aval(x: Any, what: str = "an argument") -> Aval:
    """The aval of an array, a number or a ShapeDtypeStruct. Raises ExportedSizeError for a size that is a name."""
    if isinstance(x, ShapeDtypeStruct):
        return Aval(x.numbers(), x.dtype)
    return aval_of(to_raw(x, what))


def make_jaxpr(
    f: Callable[..., Any], static_argnums: int | Sequence[int] = (), return_shape: bool = False
) -> Callable[..., Any]:
    """A function that gives `f`'s program (a ClosedJaxpr) for given arguments (arrays or ShapeDtypeStructs).

    With `return_shape`, a pair of it and the tree of `ShapeDtypeStruct`s of the result.
    """
    FunctionNeededError.check("make_jaxpr", f)
    static = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)

    @door
    @functools.wraps(f)
    def make(*args: Any, **kwargs: Any) -> Any:
        closed, out_tree = trace_to_jaxpr(f, args, kwargs, static)
        if not return_shape:
            return closed
        return closed, tree.unflatten(
            out_tree, [ShapeDtypeStruct(a.shape, a.dtype) for a in closed.out_avals]
        )

    return transformed(make, make_jaxpr, f, static_argnums, return_shape)


def trace_to_jaxpr(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], static: tuple[int, ...] = ()
) -> tuple[ClosedJaxpr, Any]:
    """(program, output structure) of `f` at the types of the arguments."""
    fixed = {n % len(args): args[n] for n in static}
    dynamic = tuple(a for n, a in enumerate(args) if n not in fixed)
    leaves, structure = tree.flatten((dynamic, kwargs))

    def call(rest: tuple[Any, ...], named: dict[str, Any]) -> Any:
        it = iter(rest)
        return run_user(f, tuple(fixed[n] if n in fixed else next(it) for n in range(len(args))), named)

    avals = [leaf_aval(x) for x in leaves]
    weak = [is_weak(x) for x in leaves]
    jaxpr, consts, out_tree = stage_fun(call, structure, avals, name_of(f), weak=weak)[:3]
    leaks.check_jaxpr(f"make_jaxpr of {name_of(f)}", jaxpr)
    return ClosedJaxpr(jaxpr, tuple(consts)), out_tree


def jaxpr_as_fun(closed: ClosedJaxpr) -> Callable[..., list[Any]]:
    """A program as a function of flat arrays that returns a list."""

    def fun(*args: Any) -> list[Any]:
        return [plain(o) for o in eval_jaxpr(closed.jaxpr, [*closed.consts, *(to_raw(a) for a in args)])]

    return fun


@door
def eval_shape(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The structure, shapes and dtypes of `f(*args, **kwargs)` as ShapeDtypeStructs, computing nothing."""
    FunctionNeededError.check("eval_shape", f)
    closed, out_tree = trace_to_jaxpr(f, args, kwargs)
    return tree.unflatten(out_tree, [ShapeDtypeStruct(a.shape, a.dtype) for a in closed.out_avals])


@contextlib.contextmanager
def disable_jit(disable: bool = True) -> Iterator[None]:
    """For debugging: inside the block `jit` calls the function itself, and `lax`'s loops are loops in Python
    that call theirs, so that `print` and a debugger see the values. Like all settings, for all threads.

    What records a program (`make_jaxpr`, `checkpoint` under `grad`, rules of custom_jvp) still does."""
    with config.override(disable_jit=disable):
        yield


@contextlib.contextmanager
def checking_leaks() -> Iterator[None]:
    """For debugging: inside the block, a traced value that is still held when its trace has ended raises
    TracerLeakError, which says where the value was made and who holds it. Slow: all objects are searched."""
    with config.override(check_tracer_leaks=True):
        yield


def block_until_ready(x: Any) -> Any:
    """`x` itself, when all that was launched on devices is done. On the CPU results are ready when a function
    returns."""
    for leaf in tree.flatten(x)[0]:
        if type(leaf) is np.ndarray or not any(hasattr(type(leaf), n) for n in _SHARED):
            continue
        if (device := _devices.device_of(leaf)) is not None:
            device.synchronize()
    return x


def typeof(x: Any) -> Aval:
    """The aval (shape and dtype) of an array, box or number."""
    return x.aval if type(x) is Box else leaf_aval(x)
