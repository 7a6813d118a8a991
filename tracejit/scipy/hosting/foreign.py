"""Calls of compiled functions of other libraries, and of scikit-learn's, which a program makes as they are.

Samples would not do for these: what is compiled need not look at its indices. So the function is called while tracing
with the values that the arguments have in this very call (`value_now`), in memory of their own. What it gives, and
which of the arrays it writes into, must be the same at each run but for the values; else Python does the call over.
The packages are those whose functions do nothing else (`names.COMPUTING`).
"""

from __future__ import annotations

import functools
import itertools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.control.callbacks.routines import library_call
from tracejit.errors import UnfollowedError
from tracejit.ir.avals import Aval
from tracejit.numpy.assumed import value_now
from tracejit.numpy.boxes.layouts import orders_of
from tracejit.numpy.dispatch import plain
from tracejit.scipy.hosting.calls import RANDOM, HostCall, kind_of, lain, parameters, telling, writes
from tracejit.scipy.hosting.names import COMPILED, COMPUTING, OTHERWISE
from tracejit.scipy.hosting.results import Template, Untellable, described, rebuilt
from tracejit.tracing import Box, caller, to_raw, untraced


def of(function: Any) -> Any:
    """`function` of a library as traced code gets it; None for what is not called so."""
    home = getattr(function, "__module__", None)
    if not isinstance(home, str) or home.partition(".")[0] not in COMPUTING:
        return None
    compiled = is_compiled(function)
    python = type(function) is types.FunctionType and home.startswith("sklearn.")
    if not (compiled or python) or home.startswith(OTHERWISE):
        return None
    return _stand_in(function, f"{home}.{function.__name__}", compiled)


def is_compiled(function: Any) -> bool:
    """Whether it is a function, and no method, that Cython or C made."""
    if type(function).__name__ not in COMPILED:
        return False
    return isinstance(getattr(function, "__self__", None), (types.ModuleType, type(None)))


@functools.cache
def _stand_in(function: Any, name: str, compiled: bool) -> Any:
    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if not any(type(x) is Box for x in tree.leaves((args, kwargs))):
            return plain(function, args, kwargs)
        try:
            return _called(function, name, compiled, args, kwargs)
        except _NotTaken as e:
            if compiled:
                raise UnfollowedError(what=f"`{name}`, which is compiled,", reason=str(e)) from None
        return function(*args, **kwargs)

    return call


class _NotTaken(Exception):
    """Why a program can't make the call."""


def _called(function: Any, name: str, compiled: bool, args: Any, kwargs: Any) -> Any:
    leaves, structure = tree.flatten((args, kwargs))
    if not compiled:
        _judge(function, args, kwargs)
    given = _Given(leaves, args, () if compiled else kwargs, compiled)
    now = [value_now(x) for x in given.operands]
    if any(x is None for x in now):
        raise _NotTaken("the values that it is given are not known where it is called")
    call = _Asked(function, name, structure, given)
    template, written = call.answer(now)
    for n in written:
        _judge_written(n, given)
    host = ForeignCall(call, template, written)
    outs = iter(library_call(host, *given.operands))
    out = rebuilt(template, outs)
    for n, raw in zip(written, outs, strict=True):
        given.boxes[n][...] = raw if not isinstance(raw, np.ndarray) else np.array(raw)
    return out


def _judge(function: Any, args: Any, kwargs: Any) -> None:
    """Raises for a call that draws at random, shows what it does, or is given what it shall fill."""
    named = dict(zip(parameters(function), args, strict=False)) | dict(kwargs)
    for k in RANDOM.intersection(parameters(function)):
        if type(named.get(k)) is not int and not _is_option(named.get(k)):
            raise _NotTaken("it draws at random")
    if bool(named.get("verbose")) or writes(function, args, kwargs):
        raise _NotTaken("it does more than compute")


def _judge_written(n: int, given: _Given) -> None:
    x = given.boxes[n]
    if type(x) is not Box or x.scalar or x.weak:
        raise _NotTaken("it writes into an array that is not part of the program")
    for other in given.boxes:
        if other is not x and type(other) is Box and other.storage is x.storage:
            raise _NotTaken("it writes into an array of which another argument is a part")


class _Given:
    """The arguments of a call: for each leaf, as `calls.kind_of` has it, ("box", way) of an operand, or ("same", class,
    value). The integers and truth values among the arguments of a function of Python's are constants, as they decide
    shapes and what is done. So are objects of a library's compiled classes, which the run has made."""

    def __init__(self, leaves: list[Any], args: Any, kwargs: Any, compiled: bool) -> None:
        options = [] if compiled else [x for x in (*args, *dict(kwargs).values()) if _is_option(x)]
        self.boxes: list[Any] = []
        kinds = []
        for x in leaves:
            kind: Any = kind_of(x, True)
            if any(x is o for o in options):
                value = bool(x) if x.aval.dtype.kind == "b" else int(x)
                kind = "same", type(value), value
            elif kind is None and _is_made_by_library(x):
                kind = "same", type(x), x
            if kind is None:
                raise _NotTaken(f"it is given a {type(x).__name__} that is not part of the program")
            kinds.append(kind)
            if kind[0] == "box":
                self.boxes.append(x)
        self.kinds = tuple(kinds)
        self.operands = [to_raw(x) for x in self.boxes]
        self.types = [x.aval if type(x) is Box else Aval(np.shape(x), x.dtype) for x in self.boxes]
        self.flags = tuple(_flags(x) for x in self.boxes)
        if not all(t.is_static and t.dtype.kind in "biufc" for t in self.types):
            raise _NotTaken("it is given arrays whose sizes are not known")

    def leaves(self, arrays: Any) -> list[Any]:
        """The leaves with these values in the place of the operands, in memory of their own."""
        it = iter(zip(arrays, self.flags, strict=True))
        return [_own(*next(it), k[1]) if k[0] == "box" else k[2] for k in self.kinds]


def _is_option(x: Any) -> bool:
    return type(x) is Box and x.weak is True and x.aval.dtype.kind in "bi"


def _is_made_by_library(x: Any) -> bool:
    home = type(x).__module__
    file = getattr(sys.modules.get(home), "__file__", None) or ".py"
    return home.partition(".")[0] in COMPUTING and not file.endswith(".py")


def _flags(x: Any) -> tuple[bool, bool]:
    """Whether an array has gaps in memory or goes backwards there, and whether it can be written."""
    if type(x) is not Box or x.scalar or x.weak or not x.aval.shape:
        return False, True
    order = orders_of(x)[0]
    straight = x if order is None else x.transpose(order)
    return not straight.flags.c_contiguous, bool(x.flags.writeable)


def _own(x: Any, flags: tuple[bool, bool], way: Any) -> Any:
    made = lain(np.array(x), way)
    if flags[0]:
        order = way[1] or range(made.ndim)
        wide = np.empty((*(made.shape[n] for n in order), 2), made.dtype)[..., 0].transpose(np.argsort(order))
        wide[...] = made
        made = wide
    if not flags[1]:
        made.flags.writeable = False
    return made


class _Asked:
    """A function with the arguments of one of its calls."""

    def __init__(self, function: Callable[..., Any], name: str, structure: Any, given: _Given) -> None:
        self.function = function
        self.name = name
        self.structure = structure
        self.given = given

    def answer(self, now: list[Any]) -> tuple[Template, tuple[int, ...]]:
        """What the function gives for these values, and which operands it writes into."""
        try:
            with telling() as told, np.errstate(all="ignore"):
                template, _, written = self.run(now)
        except Untellable:
            raise _NotTaken("it gives what is no array or number, or shares memory") from None
        except Exception as e:
            raise _NotTaken(f"it raises {type(e).__name__}: {e}") from e
        if told and caller.does_over():
            raise _NotTaken(f"it warns: {told[0].message}")
        return template, written

    def run(self, arrays: Any) -> tuple[Template, list[Any], tuple[int, ...]]:
        """Also the results, after which come the contents of the operands that were written into."""
        leaves = self.given.leaves(arrays)
        args, kwargs = tree.unflatten(self.structure, leaves)
        with untraced():
            out = self.function(*args, **kwargs)
        held = [x for x, k in zip(leaves, self.given.kinds, strict=True) if k[0] == "box"]
        template, found = described(out, [x for x in leaves if isinstance(x, np.ndarray)])
        for a, b in itertools.combinations([x for x in found if isinstance(x, np.ndarray)], 2):
            if np.may_share_memory(a, b):
                raise Untellable
        written = tuple(
            n for n, (x, was) in enumerate(zip(held, arrays, strict=True)) if not _is_same(x, was)
        )
        return template, [*found, *(held[n] for n in written)], written


def _is_same(x: Any, was: Any) -> bool:
    return not isinstance(x, np.ndarray) or x.tobytes() == np.asarray(was).tobytes()


class ForeignCall(HostCall):
    """The call of `asked` that a program makes. It gives the contents of the operands `written` after its results."""

    def __init__(self, asked: _Asked, template: Template, written: tuple[int, ...]) -> None:
        super().__init__(asked.function, asked.name, asked.structure, asked.given, template)
        self.asked = asked
        self.written = written
        self.results += tuple(asked.given.types[n] for n in written)

    @property
    def reason(self) -> str:
        """Why it has no derivative."""
        return "a library's own function runs, whose derivative is not known; a formula in NumPy has one"

    def _key(self) -> Any:
        return *super()._key(), self.written, self.asked.given.flags

    def _run(self, arrays: Any) -> tuple[Template, list[Any]]:
        try:
            template, leaves, written = self.asked.run(list(arrays))
        except Untellable:
            return (), []
        if template == self.template and written != self.written:
            self._fail("wrote into other arguments than expected")
        return template, leaves
