"""Traces, the current trace, `bind`, and boxes.

One trace is current per thread. Each interpreter's trace holds its parent; its `process` handles one op application
on raw values (its own tracers, anything else being a constant) by applying rules under the parent. What user code
holds is a `Box`: a mutable array over a storage of raw values, with NumPy's views.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit import dtypes
from tracejit.errors import LeakedTracerError, NotAnArrayError
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.elsewhere import taken
from tracejit.ir.primitive import Op
from tracejit.ir.seen import SeenArray, asked, plain_of
from tracejit.ir.values import Value, origin


class Trace:
    """An interpreter at work. `parent` is the trace that was current when it began."""

    _made: dict[Any, tuple[Any, Any]] | None = None
    #: While a block of a user's function is staged: takes over a storage of an outer trace that it writes to.
    claim: Callable[[Storage], bool] | None = None
    elsewhere: BaseException | None = None  #: Raised where another thread used a value of it.
    #: The storages that were made in it, weakly, if they go on in the parent when it ends.
    storages: list[weakref.ref[Storage]] | None = None

    def __init__(self, parent: Trace | None) -> None:
        self.parent = parent
        self.live = True
        self.level: int = 0 if parent is None else parent.level + 1
        self.staged: bool = parent is not None and parent.staged  #: Is a program recorded?

    def process(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Apply `op` to raw values; a list of results if `op.multi`."""
        raise NotImplementedError

    def update(self, op: Op, holder: list[Any], rest: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """`op(holder.pop(), *rest)`; the value may be overwritten if nothing else refers to it. The default copies."""
        return self.process(op, (holder.pop(), *rest), params)

    def lend(self, x: np.ndarray) -> np.ndarray:
        """An array of the user's as it is now, for operations that may refer to it when it is written into."""
        return x if self.parent is None else self.parent.lend(x)

    def outside(self, raw: Any) -> Any:
        """What a raw value is for the parent, where that knows it."""
        return raw

    def end(self) -> None:
        """Its tracers are leaked from now on."""
        self.live = False

    def once(self, key: Any, x: Any, make: Callable[[], Any]) -> Any:
        """`make()`, which computes something from the raw value `x`: one value for `x` in this trace, since extents
        are the same only if they are the same value."""
        if not isinstance(x, Value):
            return make()
        if self._made is None:
            self._made = {}
        if (key, id(x)) not in self._made:
            self._made[key, id(x)] = x, make()  # `x` is held, so that its id stays its own
        return self._made[key, id(x)][1]


#: Held while something is traced for a cache, transformed or compiled. One lock for all: a transformation may
#: need a trace and a trace a transformation, in either order, and locks of their own would deadlock.
LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):  # a child has no other thread that could release the lock
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)


class _State(threading.local):
    trace: Any = None  # set to the root by interpreters.eval, per thread on first use
    written: Any = None  # what an eager run has written into the user's arrays (`numpy.captured.written`)
    numbers: Any = None  # how they are typed in a function that Numba compiled; None: as NumPy's


_state = _State()
_root: list[Trace] = []
TRACING: set[int] = set()  #: Threads in which something may be traced. (A thread's own state takes 30 ns.)
STATE, ROOTS = _state, _root  # `STATE.trace is ROOTS[0]` says quickly what `not is_tracing()` says


def set_root(trace: Trace) -> None:
    """Install the trace that evaluates (called once, by interpreters.eval)."""
    _root.append(trace)
    _State.trace = trace


def current_trace() -> Any:
    return _state.trace


def is_tracing() -> bool:
    """True while a transformation is running the user's function in this thread."""
    return _state.trace is not _root[0]


class use_trace:
    """Make `trace` current in this thread for a `with` block."""

    __slots__ = ("previous", "thread", "trace")

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.thread = 0  # in which this is the outermost one

    def __enter__(self) -> None:
        self.previous = _state.trace
        if self.previous is _root[0] and (thread := threading.get_ident()) not in TRACING:
            TRACING.add(thread)
            self.thread = thread
        _state.trace = self.trace

    def __exit__(self, *_: object) -> None:
        _state.trace = self.previous
        if self.thread:
            TRACING.discard(self.thread)


class new_trace(use_trace):
    """`use_trace` for a trace that ends with the block: its tracers are leaked afterwards."""

    __slots__ = ()

    def __exit__(self, *raised: object) -> None:
        super().__exit__()
        self.trace.end()
        if self.trace.elsewhere is not None and raised[0] is None:
            raise self.trace.elsewhere


def bind(op: Op, *args: Any, **params: Any) -> Any:
    """Apply `op` to raw values in the current trace. The only interception point."""
    return _state.trace.process(op, args, params)


def bind_update(op: Op, holder: list[Any], *rest: Any, **params: Any) -> Any:
    """Like `bind(op, holder.pop(), *rest)`, in place where the popped value is uniquely owned."""
    return _state.trace.update(op, holder, rest, params)


def check_live(x: Value) -> None:
    """Raises LeakedTracerError if the trace of `x` has ended."""
    if x.trace is None or not x.trace.live:
        raise LeakedTracerError(value=origin(x))


VIEW_CACHE = 16  #: Views of one storage whose values are remembered until the next write, at most.


class _Caller:
    """How traced user functions are called: `frontend` (several floors up) installs its own."""

    def __init__(self) -> None:
        self.run: Callable[..., Any] = lambda f, args, kwargs: f(*args, **kwargs)
        self.changed: Callable[..., Any] = lambda *_: contextlib.nullcontext([])  #: What calls do besides.
        self.original: Callable[[Any], Any] = lambda f: f
        self.outside: Callable[[], Any] = contextlib.nullcontext
        self.followed: Callable[[], Any] = lambda: contextlib.nullcontext([])  #: Checks of what is read.
        self.text_of: Callable[[Callable[[int], str], Any], Any] = lambda f, n: f(int(n))
        self.warn: Callable[..., None] = lambda *_: None  #: `(text, kind, at, times)`, as NumPy or the user.
        self.does_over: Callable[[], bool] = lambda: False  #: Does Python redo calls whose checks fail?
        self.compiled: Callable[[Any], Any] = lambda f: None  #: Jitted, outside of jit's traces.
        self.shared: Callable[[Any], Any] = lambda _: None  #: `np.random`'s generator, which `_` draws from.
        self.room: Callable[[], int] = lambda: 1  #: How many times the room at first a program has for rows.


caller = _Caller()


def call_user(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a user's function while tracing: `np` in it means tracejit.numpy."""
    return caller.run(f, args, kwargs)


def users_own(f: Any) -> Any:
    """The user's own function behind what traced code holds, for calling it outside of any trace."""
    return caller.original(f)


@contextlib.contextmanager
def untraced() -> Iterator[None]:
    """Run a block as if nothing was traced in this thread: the user's callbacks."""
    with use_trace(_root[0]), caller.outside():
        yield


class Storage:
    """What boxes that share memory share: one raw value, replaced by every write.

    `trace` is the trace under which the storage was made; values of deeper traces may not be written into it.
    `origin` names an argument or captured array whose caller must see writes, else None. `version` counts the writes,
    `layout` has the strides (in elements) of an array that is not in C order in memory: an argument, or what NumPy
    would have made. `layout_read` says whether they were asked for, `order_read` whether the order of axes was.
    `rows`: of an item of a list, which may only be looked at, or of all of them (`numpy.boxes.sharing.either`).
    """

    __slots__ = (
        "__weakref__",
        "cache",
        "layout",
        "layout_read",
        "order_read",
        "origin",
        "rows",
        "trace",
        "value",
        "version",
    )

    def __init__(self, value: Any, trace: Trace, origin: Any = None) -> None:
        self.value, self.trace = value, trace
        self.version = 0
        self.origin = origin
        self.layout: tuple[int, ...] | None = None
        self.layout_read = self.order_read = False
        self.rows: Any = None
        self.cache: dict[tuple[View, ...], Any] = {}
        if trace.storages is not None:
            trace.storages.append(weakref.ref(self))

    @property
    def held(self) -> Any:
        """What it holds now, computing nothing."""
        return self.value

    def state(self) -> Any:
        """What `restore` puts back, after an inner trace has written into it."""
        return self.value, self.trace, self.version, self.cache

    def restore(self, state: Any) -> None:
        self.value, self.trace, self.version, self.cache = state

    def leave(self, ended: Trace, owner: Trace) -> None:
        """Be a storage of `owner`, which is outside of `ended`, with the value that is known there."""
        self.value = ended.outside(self.value)
        self.trace, self.cache = owner, {}

    def read(self, chain: tuple[View, ...]) -> Any:
        """The value seen through `chain`; remembered while nothing is written."""
        value = self.value
        if not chain:
            return value
        cached = self.cache.get(chain)
        if cached is not None:
            return cached
        for view in chain:
            value = view.read(value)
        if _state.trace is self.trace:  # a deeper trace's value must not be seen by others
            if len(self.cache) >= VIEW_CACHE:
                self.cache.clear()
            self.cache[chain] = value
        return value


class View:
    """One step from a parent's value to a view's. `writable` is False for broadcast views."""

    __slots__ = ()
    writable = True

    def same(self, other: View) -> bool:
        """Whether both are known to show the same part of a parent."""
        return self is other

    def read(self, raw: Any) -> Any:
        """The view's raw value, from the parent's."""
        raise NotImplementedError

    def write(self, holder: list[Any], new: Any) -> Any:
        """The parent's raw value with the view replaced by `new` (of its shape and dtype).

        `holder` is a one-element list with the parent's value, to be popped (see `bind_update`)."""
        raise NotImplementedError


#: What `Box.weak` is of numbers that promote as Python's do, but are NumPy's to the user: results of lax's loops.
NUMPYS = 2


class Box:
    """A traced array as user code sees it, with the members that tracejit.numpy adds. `weak`: it stands for a Python
    scalar (NEP 50); `scalar`: for a NumPy scalar, which `+=` rebinds; unsure which: it has `python`. `identity`: the
    view that it is (`numpy.boxes.sharing.either`); None: all of the storage, itself."""

    __slots__ = ("__weakref__", "aval", "chain", "identity", "mixed", "python", "scalar", "storage", "weak")

    def __init__(
        self, storage: Storage, chain: tuple[View, ...], aval: Aval, weak: Any = False, scalar: bool = False
    ) -> None:
        self.storage = storage
        self.chain = chain
        self.aval, self.weak, self.scalar = aval, weak, scalar
        self.identity: Any = None

    @property
    def __class__(self) -> type:
        return self.tj_class if (t := asked.is_told(sys._getframe(1), self)) is True else t or Box

    if TYPE_CHECKING:  # the members that tracejit.numpy.boxes adds
        tj_class: type

        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, index: Any) -> Any: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __iter__(self) -> Iterator[Any]: ...
        def __len__(self) -> int: ...

    def read(self) -> Any:
        """The raw value now: the storage's, seen through the chain of views."""
        return self.storage.read(self.chain) if self.chain else self.storage.value


#: Python's messages name the class: "unsupported operand type(s) for +: 'traced array' and 'str'".
Box.__name__ = "traced array"


def box(value: Any, weak: Any = False, origin: Any = None) -> Box:
    """A new box over its own storage, holding the raw `value`."""
    aval = aval_of(value)
    scalar = not aval.shape and origin is None
    if scalar and weak is False and _state.numbers is not None:
        return _state.numbers.box(value)
    return Box(Storage(value, _state.trace, origin), (), aval, weak, scalar)


def new_array(raw: Any) -> Box:
    """A box that user code may write into, even if it is 0-d."""
    return Box(Storage(raw, _state.trace), (), aval_of(raw))


def unbox(x: Any) -> Any:
    """The raw value of a box; anything else unchanged."""
    return x.read() if type(x) is Box else x


def wrap(value: Any, weak: Any = False) -> Any:
    """A raw result as user code should see it: an array when evaluating, a box while tracing; Python's True and
    False, where they are known, as in derivatives outside of jit, themselves."""
    if weak is True and type(value) is np.bool_ and not _state.trace.staged:
        return bool(value)
    return box(value, weak) if _state.trace is not _root[0] else value


class Frozen(View):
    """What traced indices show of a real array: nothing can be written through it."""

    __slots__, writable = (), False

    def read(self, raw: Any) -> Any:
        return raw


_frozen = (Frozen(),)


def shown(array: Any) -> Box:
    """A real array as a box: it can be computed with, and not be written."""
    return Box(Storage(array, _state.trace), _frozen, aval_of(array))


def to_raw(x: Any, what: str = "a value") -> Any:
    """The raw value of a leaf: a box's, an array as it is, a Python scalar as a NumPy scalar.

    Raises:
        NotAnArrayError: it is none of these; `what` names it.
        UnknownDtypeError, NumberSizeError: an array of objects, strings or the like; an integer beyond 64 bits.
    """
    if type(x) is Box:
        return x.read()
    x = x.raw() if (seen := isinstance(x, SeenArray)) else x
    if isinstance(x, (np.ndarray, np.generic)):
        dtypes.canonical(x.dtype)
        if isinstance(x, np.generic) or seen:
            return x
        return _state.trace.lend(x if type(x) is np.ndarray else plain_of(x, what))
    if isinstance(x, Value):
        return x
    d = dtypes.of_python_scalar(x)
    if d is not None:
        return dtypes.number(d, x, what)
    if (there := taken(x)) is not None:
        dtypes.canonical(there.dtype)
        return there
    if isinstance(x, (bool, int, float, complex)) or (hasattr(x, "__array__") and not isinstance(x, type)):
        return to_raw(dtypes.asked(np.asarray, x)[()], what)
    raise NotAnArrayError(what=what, type=type(x).__name__, value=x)
