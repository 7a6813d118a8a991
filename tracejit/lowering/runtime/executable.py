"""Executables: machine code with what it takes to call it on ndarrays.

`Executable(lowered, code)(*arrays)` calls the entry through the native shell, which makes the outputs. It may
be called from many threads, and recursively through callbacks. The GIL is released during the call, except for
programs that are `small` and have no callbacks: there the release would cost more than the work.
"""

from __future__ import annotations

import ctypes
import math
import re
import struct
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np

from tracejit.errors import ForkedCallError, InternalTypeError, refusals
from tracejit.ir import natives
from tracejit.ir.avals import Dim, capacity
from tracejit.lowering._lazy import cython_special
from tracejit.lowering.loops.nodes import OUT_OF_MEMORY, External
from tracejit.lowering.lowered import Callback, Lowered, Spec
from tracejit.lowering.plan.access import c_strides
from tracejit.lowering.runtime import draws, mersenne, pool, results, routines, shell, threads
from tracejit.lowering.runtime.arena import ARENA
from tracejit.lowering.runtime.blas import capsule_name, capsule_pointer
from tracejit.lowering.runtime.compile import Code

CALLBACK_RAISED = -1
_STACK_ARENA = 32 * 1024  # bytes; larger arenas are blocks of `lowering.runtime.arena`

_libc = ctypes.CDLL(None)


class Executable:
    """A compiled program that is called with ndarrays of exactly the types it was lowered for.

    `call` is the function itself; `caller` makes ones that check their arguments. Raises what callbacks raise,
    the exceptions of `lowered.failures`, and MemoryError when a heap buffer cannot be allocated.
    """

    def __init__(self, lowered: Lowered, code: Code) -> None:
        self.lowered = lowered
        self.code = code
        self._raised = threading.local()
        self._thunks = [_thunk(c, self._keep_exception) for c in lowered.callbacks]
        program = lowered.program
        self._params = (ctypes.c_int64 * max(len(program.params), 1))(*program.params)
        self._natives = [natives.find(e.name) for e in program.externals if e.name.startswith(natives.PREFIX)]
        #: Of the functions that it calls.
        self.addresses = [self._address(e) for e in program.externals]
        self._table = (ctypes.c_void_p * max(len(self.addresses), 1))(*self.addresses)
        self.call = self.caller([shell.Input()] * len(lowered.in_avals))

    def __call__(self, *arrays: np.ndarray) -> tuple[Any, ...]:
        return self.call(*arrays)

    # -- external functions

    def _address(self, external: External) -> int:
        kind, _, name = external.name.partition(":")
        if kind == "callback":
            thunk = self._thunks[int(name)]
            return (
                thunk.address if isinstance(thunk, Told) else ctypes.cast(thunk, ctypes.c_void_p).value or 0
            )
        if needs_gil(external):
            return mersenne.address(name)
        if kind in ("blas", "lapack", "numpy", "random"):
            return routines.address(external.name)
        if kind == "special":
            table = cython_special.__pyx_capi__
            return capsule_pointer(table, special_name(table, name, external.signature))
        if kind == "c":
            return ctypes.cast(getattr(_libc, name), ctypes.c_void_p).value or 0
        if kind == "python":
            return shell.signal_check()
        if kind == "pool":
            return pool.address()
        if kind == "threads":
            return threads.address(name)
        if kind == "native":
            return natives.find(external.name).address
        if kind == "library":
            return 0  # a device's, which nothing on the host calls
        raise InternalTypeError(problem=f"no address for the external function {external.name!r}")

    def _keep_exception(self, e: BaseException, users: bool) -> None:
        self._raised.exception = e, users

    # -- the call

    def caller(
        self,
        inputs: Sequence[shell.Input],
        single: bool = False,
        python: Collection[int] = (),
        asks: bool = False,
    ) -> Callable[..., Any]:
        """The function itself, of arguments like these: the outputs as a tuple (with `single`, which needs one output,
        as they are), or `shell.MISS` for other arguments. Outputs without dimensions are NumPy scalars, those in
        `python` Python's numbers. It `asks` for NumPy's settings of floating-point errors (`shell.make`)."""
        low, entry = self.lowered, self.entry()
        dynamic = [n for n, a in enumerate(low.out_avals) if not a.is_static]
        outputs = [
            shell.Output(
                a.dtype, capacity(a.shape) if a.is_static else (), self._given(n, dynamic), n in python
            )
            for n, a in enumerate(low.out_avals)
        ]
        on_stack = entry.scratch > 0
        extra = len(dynamic) + (not on_stack)
        native = shell.make(entry, inputs, outputs, extra, single and not dynamic, asks)
        if not on_stack:
            native = self._with_block(native)
        return self._with_extents(native, dynamic, single, inputs) if dynamic else native

    def entry(self) -> shell.Entry:
        """The native entry with what it takes besides the arrays."""
        low = self.lowered
        on_stack = low.program.arena_bytes <= _STACK_ARENA
        scratch = max(low.program.arena_bytes, 64) if on_stack else 0
        release = (not low.small or bool(low.callbacks)) and not any(map(needs_gil, low.program.externals))
        return shell.Entry(self.code.address, *self.tables(), scratch, release, self.fail)

    def _given(self, n: int, dynamic: list[int]) -> int | None:
        """The argument that is output `n`: an input whose memory it takes, or an array made before the call."""
        aliases = self.lowered.aliases
        if n in aliases:
            return aliases[n]
        return len(self.lowered.in_avals) + dynamic.index(n) if n in dynamic else None

    def _with_block(self, native: Callable[..., Any]) -> Callable[..., Any]:
        """`native` with a block of scratch memory as its last array."""
        size, take, give = self.lowered.program.arena_bytes + 64, ARENA.take, ARENA.give

        def call(*arrays: Any) -> Any:
            block = take(size)
            try:
                return native(*arrays, block)
            finally:
                give(block)

        return call

    def _with_extents(
        self, native: Callable[..., Any], dynamic: list[int], single: bool, inputs: Sequence[shell.Input]
    ) -> Callable[..., Any]:
        """`native` with arrays for the outputs whose extents are known only at run time, which it cuts to size.
        Inputs that are extents have their types looked at first, since nothing else can be asked for its size."""
        sizes = {
            d[1] for n in dynamic for d in self.lowered.out_dims[n] if type(d) is tuple and d[0] == "input"
        }
        types = [(n, kind) for n in sorted(sizes) if (kind := inputs[n].type) is not None]

        def call(*arrays: Any) -> Any:
            for n, kind in types:
                if type(arrays[n]) is not kind:
                    return shell.MISS
            outs = native(*arrays, *(self._allocate(n, arrays) for n in dynamic))
            if outs is shell.MISS:
                return outs
            blocks = {p: pool.Block(p) for p in {int(outs[n][1]) for n in self.lowered.given}}
            outs = tuple([self._trimmed(n, out, arrays, outs, blocks) for n, out in enumerate(outs)])
            return outs[0] if single else outs

        return call

    def _allocate(self, n: int, arrays: tuple[np.ndarray, ...]) -> np.ndarray:
        """Output n at the bounds of its extents; unbounded ones are integers among the inputs."""
        if n in self.lowered.given:
            return np.zeros(2, np.int64)
        aval, dims = self.lowered.out_avals[n], self.lowered.out_dims[n]
        shape = list(capacity(aval.shape))
        for axis, d in enumerate(aval.shape):
            if isinstance(d, Dim) and d.bound is None:
                shape[axis] = _extent(dims[axis], arrays, ())
        return np.empty(shape, aval.dtype)

    def _trimmed(
        self, n: int, out: np.ndarray, arrays: Any, outs: Any, blocks: dict[int, pool.Block]
    ) -> np.ndarray:
        """Output n as large as it is; of the block that it is in, if the program has allocated that."""
        if self.lowered.out_avals[n].is_static:
            return out
        shape = tuple(_extent(d, arrays, outs) for d in self.lowered.out_dims[n])
        if n not in self.lowered.given:
            return _first(out, shape)
        aval, strides = self.lowered.out_avals[n], self.lowered.given[n]
        if 0 in shape:
            return np.empty(shape, aval.dtype)
        if strides is None:
            bounds = [d.bound if isinstance(d, Dim) else d for d in aval.shape]
            strides = c_strides(tuple(b or k for b, k in zip(bounds, shape, strict=True)))
        return blocks[int(out[1])].array(int(out[0]), shape, strides, aval.dtype)

    def tables(self) -> tuple[int, int]:
        """The addresses of the params, and of the addresses of what the program calls."""
        return ctypes.addressof(self._params), ctypes.addressof(self._table)

    # -- failures

    def fail(self, status: bytes) -> None:
        """Raise the exception of a nonzero status."""
        refusals.failed(None)
        for c in self.lowered.callbacks:  # those that hold something until a later call
            getattr(c.params.get("callback"), "abandoned", _nothing)()
        code, *details = struct.unpack(f"<{len(status) // 8}q", status)
        if code == CALLBACK_RAISED:
            e, users = self._raised.exception
            del self._raised.exception
            refusals.failed(None if users else e)
            raise e
        if code == OUT_OF_MEMORY:
            raise MemoryError("a temporary array of a compiled function could not be allocated")
        if code == threads.FORKED:
            raise ForkedCallError
        if code in self.lowered.failures:
            error = self.lowered.failures[code](tuple(details))
            refusals.failed(error)  # what a callback raises is another thing
            raise error
        if code == shell.WRONG_COUNT:
            raise InternalTypeError(problem=f"an executable takes {len(self.lowered.in_avals)} arrays")
        raise InternalTypeError(problem=f"a compiled function ended with the unknown status {code}")


def _nothing() -> None:
    pass


def _first(out: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The first elements of a new array along each axis: an array in C order that owns its memory, as NumPy's do."""
    if shape[1:] != out.shape[1:]:
        return out[tuple(map(slice, shape))].copy()
    out.resize(shape, refcheck=False)  # the other elements lie behind these, and nobody else has the array
    return out


def needs_gil(external: External) -> bool:
    """Whether a function works on an object of Python's."""
    return external.name.removeprefix("random:") in draws.PYTHONS


def _extent(d: Any, arrays: Any, outs: Any) -> int:
    """The size that an entry of `Lowered.out_dims` stands for."""
    if isinstance(d, int):
        return d
    kind, n = d
    return int((arrays if kind == "input" else outs)[n])


def special_name(table: dict[str, Any], name: str, signature: str = "") -> str:
    """The capsule of the function `name` of scipy.special.cython_special that takes and gives doubles (and integers
    where the signature of its `External` says so), and then an int that says not to look for overriding methods.
    Functions of several types have a capsule for each."""
    kinds = [_CYTHON[k] for k in signature.partition("(")[2].rstrip(")").split(",")[:-1] if k]
    for n in (name, *(k for k in table if k.startswith("__pyx_fuse_") and _FUSED.sub("", k) == name)):
        if n in table:
            result, _, rest = capsule_name(table[n]).decode().partition(" (")
            given = rest.split(", ")[:-1]
            if result == "double" and given == (kinds or ["double"] * len(given)):
                return n
    raise InternalTypeError(problem=f"scipy.special.cython_special has no function {name!r} of doubles")


#: Kinds of an external's signature -> what Cython calls them.
_CYTHON = {"f64": "double", "i64": "Py_ssize_t"}
_FUSED = re.compile(r"^__pyx_fuse_(\d+_)*\d+")


# ---------------------------------------------------------------- callbacks


def array_at(pointer: int | None, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array over memory that native code owns."""
    size = math.prod(shape) * dtype.itemsize
    if not size:
        return np.empty(shape, dtype)
    block: Any = (ctypes.c_char * size).from_address(pointer or 0)
    return np.ndarray(shape, dtype, buffer=block)


#: The C types of numbers.
_CTYPES: dict[np.dtype, Any] = {
    np.dtype(np.float64): ctypes.c_double,
    np.dtype(np.float32): ctypes.c_float,
    np.dtype(np.int64): ctypes.c_int64,
    np.dtype(np.int32): ctypes.c_int32,
    np.dtype(np.bool_): ctypes.c_bool,
}


def _array_maker(
    spec: Spec, bound: tuple[int, ...], of_scalars: bool
) -> Callable[[Any, Iterator[int]], np.ndarray]:
    """`(pointer, extents) -> array` for a spec of a callback; `extents` yields the sizes of dynamic dimensions. With
    `of_scalars` numbers are NumPy's scalars, which cost less."""
    _, shape, dtype = spec
    if not shape and of_scalars and (kind := _CTYPES.get(dtype)) is not None:
        return lambda pointer, _: dtype.type(kind.from_address(pointer).value)
    if None in shape:
        return lambda pointer, extents: _dynamic_array(pointer, shape, dtype, bound, extents)
    size = math.prod(shape) * dtype.itemsize
    block: Any = ctypes.c_char * size
    return lambda pointer, _: np.ndarray(shape, dtype, block.from_address(pointer) if size else bytearray())


def _dynamic_array(
    pointer: int | None, shape: Any, dtype: np.dtype, bound: tuple[int, ...], extents: Iterator[int]
) -> np.ndarray:
    sizes = tuple(next(extents) if d is None else d for d in shape)
    whole = array_at(pointer, bound or sizes, dtype)
    return whole if whole.shape == sizes else whole[tuple(map(slice, sizes))]


class Told:
    """A C function `i32(pointers)` that calls a function of Python's with the numbers there, without ctypes. `make`
    gives that function, of how many numbers it takes and what it hands exceptions to; then it returns True."""

    def __init__(self, make: Callable[..., Any], keep: Callable[[BaseException, bool], None]) -> None:
        self._make = make
        self._keep = keep
        self._held: Any = None  # the code knows the function by its address
        self.address = 0

    def load(self, dtypes: Sequence[str]) -> bool:
        """Whether there is such a function of numbers of these dtypes."""
        called = self._make(len(dtypes), self._keep)
        code = shell.caller_of_numbers(called, dtypes, CALLBACK_RAISED)
        self._held, self.address = (called, code), 0 if code is None else code.address
        return code is not None


def _thunk_of_numbers(
    callback: Callback, makers: list[Callable[..., Any]], keep: Callable[[BaseException, bool], None]
) -> Any:
    """`_thunk` of a callback that takes numbers and gives nothing."""
    fn, nothing = callback.fn, iter(())
    make: Any = getattr(fn, "for_numbers", None)
    if callback.users and make is not None and shell.layout_is_known():
        told = Told(make, keep)
        if told.load([dtype.name for _, _, dtype in callback.in_specs]):
            return told

    def run(*raw: int) -> int:
        try:
            fn([make(pointer, nothing) for make, pointer in zip(makers, raw, strict=True)], [])
        except BaseException as e:
            keep(e, callback.users)
            return CALLBACK_RAISED
        return 0

    return ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * len(makers))(run)


def _is_large(specs: Sequence[Spec]) -> bool:
    """Whether what a library gives is large, before it is copied to where the program wants it."""
    return any(
        math.prod(d or 1 for d in shape) * dtype.itemsize >= results.LEAST for _, shape, dtype in specs
    )


def _thunk(callback: Callback, keep: Callable[[BaseException, bool], None]) -> Any:
    """A C function `i32(pointers of operands, of results, dynamic extents)`; it takes the GIL itself."""
    specs = [*callback.in_specs, *callback.out_specs]
    makers = [
        _array_maker(spec, bounds[n] if bounds else (), callback.users and of is callback.in_specs)
        for of, bounds in ((callback.in_specs, callback.in_bounds), (callback.out_specs, callback.out_bounds))
        for n, spec in enumerate(of)
    ]
    n_in, n_all = len(callback.in_specs), len(specs)
    dynamic = sum(d is None for _, shape, _ in specs for d in shape)

    if not dynamic and not callback.out_specs and all(not shape for _, shape, _ in specs):
        return _thunk_of_numbers(callback, makers, keep)

    fn = callback.fn if callback.users or not _is_large(callback.out_specs) else results.lending(callback.fn)

    def run(*raw: int) -> int:
        try:
            extents = iter(raw[n_all:])
            arrays = [make(pointer, extents) for make, pointer in zip(makers, raw)]  # noqa: B905 - then extents
            ins = arrays[:n_in]
            for a in ins:
                if type(a) is np.ndarray:
                    a.flags.writeable = False
            fn(ins, arrays[n_in:])
        except BaseException as e:  # no exception may pass through native frames; the executable raises it
            keep(e, callback.users)
            return CALLBACK_RAISED
        return 0

    kind = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * n_all, *[ctypes.c_int64] * dynamic)
    return kind(run)
