"""Which calls of SciPy's functions a program makes as they are, and how.

A call is taken if the function is one of SciPy's that computes arrays from arrays: its arguments are arrays, numbers,
strings and containers of these; it draws nothing at random and writes into none of them. What it gives on sample
values, in all families of them that it takes, must be the same but for the values. Traced integers of Python's are
asked for their values, since they decide shapes most often; so the argument that they come from becomes static. All
other calls are made as they stand, and what tracing can't follow in them is refused.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import operator
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.control.callbacks.routines import library_call
from tracejit.docstrings import complete
from tracejit.errors import LibraryResultError, user_location
from tracejit.ir.avals import Aval
from tracejit.numpy.boxes.layouts import orders_of
from tracejit.numpy.boxes.unsure import is_unsure
from tracejit.numpy.captured.array import CapturedArray
from tracejit.numpy.dispatch import plain
from tracejit.scipy import __all__ as PARTS
from tracejit.scipy.hosting.following import followed, is_public, know_results
from tracejit.scipy.hosting.names import FOLLOWED
from tracejit.scipy.hosting.nearest import nearest
from tracejit.scipy.hosting.results import Template, Untellable, avals, described, rebuilt
from tracejit.scipy.hosting.samples import FAMILIES, laid, sample
from tracejit.tracing import Box, caller, to_raw, untraced

#: The parts of SciPy that compute, but for sparse arrays, whose Python code is followed.
_PARTS = {*PARTS, "differentiate", "fftpack"} - {"sparse"}
_NUMBERS = (bool, int, float, complex)
#: Values among the arguments that are constants of the call.
_CONSTANTS = (*_NUMBERS, str, bytes, type(None), type(...), slice, np.dtype)
#: Parameters of what draws at random.
RANDOM = frozenset(("rng", "random_state", "seed"))
_WRITTEN = frozenset(("out", "output"))
#: What `output` may be that says which kind of result there is.
_KINDS = (str, type(None), type, np.dtype)
#: Warnings are recorded for the whole process.
_lock = threading.RLock()


def of(function: Any) -> Any:
    """`function` of SciPy's as traced code gets it; None for others and what has no such form."""
    name = _name(function)
    known = name in FOLLOWED  # some have a `rng` that draws nothing
    if name is None or not (known or _is_taken(function)) or not is_public(function, name):
        return None
    know_results(function)
    hosted = stand_in(function, name)
    return followed(function, hosted) if known else hosted


@functools.cache
def stand_in(function: Any, name: str) -> Any:
    """`function` of SciPy's with the public `name`, which a program calls where it is given traced values."""

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if not any(type(x) is Box for x in tree.leaves((args, kwargs))):
            return plain(function, args, kwargs)
        found = called(function, name, args, kwargs)
        return function(*args, **kwargs) if found is NOT_TAKEN else found

    return call


#: What `called` gives where the program can't make the call.
NOT_TAKEN = object()


def called(function: Any, name: str, args: Any, kwargs: Any, families: int = FAMILIES) -> Any:
    """What `function(*args, **kwargs)` gives when the program calls it; `name` is how that is told. It is asked for its
    results by that many families of samples."""
    leaves, structure = tree.flatten((args, kwargs))
    given = _Given.of(function, leaves, args, kwargs)
    template = None if given is None else _asked(function, structure, given, families)
    if given is None or template is None:
        return NOT_TAKEN
    call = HostCall(function, name, structure, given, template)
    return rebuilt(template, iter(library_call(call, *given.operands)))


def others(
    name: str, load: Callable[[], Any], ours: list[str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of module `name`, the counterpart of the module of SciPy that `load` gives, for the
    end of its file. It has the names `ours` itself, whose docstrings are completed here; others are functions that
    programs call, or what SciPy has there."""
    complete(name)

    def get(name: str) -> Any:
        if name.startswith("__"):  # `from x import y` asks for `__path__`: no reason to import SciPy
            raise AttributeError(name)
        module = load()
        if not hasattr(module, name):
            raise AttributeError(f"neither {module.__name__} nor tracejit.{module.__name__} has {name!r}")
        theirs = getattr(module, name)
        return of(theirs) or theirs

    return get, lambda: sorted({*ours, *dir(load())})


def _name(function: Any) -> str | None:
    """The public name, such as `scipy.signal.medfilt`; the shortest one."""
    if isinstance(function, np.ufunc):
        module = "scipy.special"
    elif type(function) not in (types.FunctionType, types.BuiltinFunctionType):
        return None
    else:
        parts = (getattr(function, "__module__", None) or "").split(".")
        public = [p for p in parts if not p.startswith("_")]
        if parts[0] != "scipy" or len(public) < 2 or public[1] not in _PARTS:
            return None
        modules = [".".join(public[:n]) for n in range(2, len(public) + 1)]
        found = (m for m in modules if getattr(sys.modules.get(m), function.__name__, None) is function)
        module = next(found, modules[-1])
    return f"{module}.{function.__name__}"


def _is_taken(function: Any) -> bool:
    return isinstance(function, np.ufunc) or RANDOM.isdisjoint(parameters(function))


@functools.cache
def parameters(function: Any) -> tuple[str, ...]:
    """The names of the function's parameters; none where it does not say."""
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ()


class _Given:
    """The arguments of a call. `kinds`, for each leaf: ("box", way) of an operand, or ("same", class, value)."""

    def __init__(self, kinds: list[Any], operands: list[Any], types: list[Aval]) -> None:
        self.kinds = tuple(kinds)
        self.operands = operands
        self.types = types

    @staticmethod
    def of(function: Any, leaves: list[Any], args: Any, kwargs: Any) -> _Given | None:
        """None where there is something among them that the call can't be given."""
        if writes(function, args, kwargs):
            return None
        kinds: list[Any] = []
        boxes: list[Any] = []
        for x in leaves:
            kind = kind_of(x, isinstance(function, np.ufunc))
            if kind is None:
                return None
            if kind[1] == "size":
                kind = "same", int, operator.index(x)  # its argument becomes static
            kinds.append(kind)
            if kind[0] == "box":
                boxes.append(x)
        operands = [to_raw(x) for x in boxes]
        types = [x.aval if type(x) is Box else Aval(np.shape(x), x.dtype) for x in boxes]
        return _Given(kinds, operands, types) if all(t.is_static for t in types) else None

    def leaves(self, arrays: list[Any]) -> list[Any]:
        """The leaves with these values in the place of the operands, in memory of their own."""
        it = iter(arrays)
        return [lain(next(it), k[1]) if k[0] == "box" else k[2] for k in self.kinds]


def writes(function: Any, args: Any, kwargs: Any) -> bool:
    """Whether the call may write into an argument."""
    named = dict(kwargs)
    if isinstance(function, np.ufunc):
        return len(args) > function.nin or bool(named)
    named |= dict(zip(parameters(function), args, strict=False))
    return any(
        (k in _WRITTEN and not isinstance(v, _KINDS)) or (k.startswith("overwrite") and v)
        for k, v in named.items()
    )


def kind_of(x: Any, number: bool) -> Any:
    """How a leaf is given to the call; `number`: integers of Python's are numbers like others."""
    if type(x) is Box:
        orders = orders_of(x)
        if is_unsure(x) or len(orders) > 1:
            return None
        if x.weak:
            return "box", "number" if number or x.aval.dtype.kind != "i" else "size"
        return "box", "scalar" if x.scalar else ("array", orders[0])
    if type(x) in (np.ndarray, CapturedArray):
        return ("box", ("array", None)) if x.dtype.kind in "biufc" and x.flags.c_contiguous else None
    if isinstance(x, np.generic) and x.dtype.kind in "biufc":
        return "box", "scalar"
    if isinstance(x, _CONSTANTS) or (isinstance(x, type) and x.__module__ in ("builtins", "numpy")):
        return "same", type(x), x
    return None


def lain(x: Any, way: Any) -> Any:
    """An operand as the function would get it in Python."""
    if way == "scalar":
        return np.asarray(x)[()]
    if type(way) is tuple:
        return laid(x, way[1])
    return np.asarray(x).item()


def _asked(function: Any, structure: Any, given: _Given, families: int) -> Template | None:
    """What the function gives on samples, if that is always the same."""
    found: set[Template] = set()
    for family in range(families + 1):
        if family == families and found:
            break
        arrays = [sample(a.shape, a.dtype, min(family, FAMILIES), n) for n, a in enumerate(given.types)]
        try:
            with _lock, warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                found.add(_run(function, structure, given, arrays)[0])
        except Untellable:
            return None
        except Exception:  # these values are none that it takes
            continue
        if len(found) > 1:
            return None
    return found.pop() if found else None


def _run(function: Any, structure: Any, given: _Given, arrays: list[Any]) -> tuple[Template, list[Any]]:
    leaves = given.leaves(arrays)
    args, kwargs = tree.unflatten(structure, leaves)
    with untraced():
        out = function(*args, **kwargs)
    return described(out, [x for x in leaves if isinstance(x, np.ndarray)])


@contextlib.contextmanager
def telling() -> Iterator[list[Any]]:
    """Inside, warnings come into a list."""
    with _lock, warnings.catch_warnings(record=True) as told:
        yield told


class HostCall:
    """A call of `function` with operands in the places of traced values; what it gives must fit `template`."""

    def __init__(
        self, function: Callable[..., Any], name: str, structure: Any, given: Any, template: Template
    ) -> None:
        self.function = function
        self.name = name
        self.structure = structure
        self.given = given
        self.template = template
        self.results = tuple(avals(template))
        self.over = caller.does_over()
        self.where = user_location()

    @property
    def told(self) -> str:
        """How `explain` lists it."""
        return f"host call of {self.name}" + (f" (at {self.where})" if self.where else "")

    @property
    def reason(self) -> str:
        """Why it has no derivative."""
        return f"SciPy's own function runs, whose derivative is not known; the nearest with one is {nearest(self.name)}"

    #: What may come out of it, where the user's code may expect it.
    raises = (ValueError, TypeError, RuntimeError, ArithmeticError, np.linalg.LinAlgError, Exception)

    def _key(self) -> Any:
        return self.function, self.structure, self.given.kinds, self.template, self.over

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HostCall) and other._key() == self._key()

    def __hash__(self) -> int:
        return hash((self.function, self.template))

    def __repr__(self) -> str:
        return self.name

    def __call__(self, *arrays: Any) -> list[np.ndarray]:
        """Raises LibraryResultError where it gives something else, or warns, and Python has to do the call."""
        if not self.over:
            return self._checked(*self._run(arrays))
        with telling() as told:
            template, leaves = self._run(arrays)
        if told:
            self._fail(f"warned: {told[0].message}")
        return self._checked(template, leaves)

    def _run(self, arrays: Any) -> tuple[Template, list[Any]]:
        try:
            return _run(self.function, self.structure, self.given, list(arrays))
        except Untellable:
            return (), []

    def _checked(self, template: Template, leaves: list[Any]) -> list[np.ndarray]:
        if template != self.template:
            self._fail("gave a result of another kind than expected")
        return [np.asarray(x, a.dtype) for x, a in zip(leaves, self.results, strict=True)]

    def _fail(self, problem: str) -> None:
        raise LibraryResultError(function=self.name, problem=problem)
