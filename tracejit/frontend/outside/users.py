"""Functions of the user's that others call: whether they are part of a program (rules, callbacks), and what calls of
one do besides giving a value."""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Iterator, Sequence
from typing import Any

from tracejit.control.custom.closures import StagedRule, StagedRules
from tracejit.control.custom.jvp import UserRule, custom_jvp
from tracejit.control.custom.rules import Call
from tracejit.control.custom.vjp import UserRules, custom_vjp
from tracejit.frontend.origins import is_library_function
from tracejit.frontend.rewrite.blocks.held import Containers
from tracejit.interpreters.stage import StageTrace
from tracejit.ir.jaxpr import DRAWN, JOURNAL, Eqn, Jaxpr, sub_jaxprs
from tracejit.tracing import current_trace

_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)
_TOLD = {JOURNAL: "prints, logs or warns", DRAWN: "draws random numbers"}
#: The attributes of objects that hold functions.
_PARTS = {
    UserRule: ("jvp", "call"),
    UserRules: ("user_fwd", "user_bwd", "call"),
    Call: ("fun", "nondiff"),
    custom_jvp: ("fun", "jvp"),
    custom_vjp: ("fun", "fwd", "bwd"),
    functools.partial: ("func", "args", "keywords"),
    types.MethodType: ("__func__", "__self__"),
}


def run_later(eqn: Eqn) -> bool:
    """Whether functions of the user's run when the equation does, or when it is transformed."""
    return _any_in(sub_jaxprs(eqn.params)) or any(
        are_users(p) for name, p in eqn.params.items() if "rule" in name or isinstance(p, _FUNCTIONS)
    )


def _any_in(jaxprs: Any) -> bool:
    return any(run_later(e) for jaxpr in jaxprs for e in jaxpr.eqns)


def are_users(x: Any) -> bool:
    """Whether a rule or callback is one of the user's, or may call one: it closes over it."""
    met: set[int] = set()
    left = [x]
    while left:
        y = left.pop()
        if id(y) in met:
            continue
        met.add(id(y))
        if isinstance(y, (StagedRule, StagedRules)):
            if _any_in(v for v in vars(y).values() if isinstance(v, Jaxpr)):
                return True
        elif isinstance(y, types.FunctionType):
            if not is_library_function(y):
                return True
            left += _held(y)
        elif type(y) in _PARTS:
            left += [getattr(y, name) for name in _PARTS[type(y)]]
        elif hasattr(y, "rule"):  # mapped, or differentiated
            left.append(y.rule)
        elif isinstance(y, (tuple, list)):
            left += y
        elif isinstance(y, dict):
            left += y.values()
        elif callable(y) and not _is_known(y):
            return True
    return False


def _held(f: types.FunctionType) -> Iterator[Any]:
    yield from f.__defaults__ or ()
    for cell in f.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue


def _is_known(x: Any) -> bool:
    """Whether what can be called is a class, a function of a library's in C, or an object of ours."""
    module = type(x).__module__.partition(".")[0]
    return isinstance(x, (type, types.BuiltinFunctionType)) or module in ("tracejit", "numpy", "scipy")


@contextlib.contextmanager
def changed(f: Any, args: Sequence[Any] = ()) -> Iterator[list[str]]:
    """The list has, in the end, what a call of `f` with `args` in this context has done: changes of names and objects,
    which are as before then, and effects of equations. That it may take items from an iterator is one of them."""
    found: list[str] = []
    it = f"{getattr(f, '__name__', 'function')}"
    held = Containers({it: f, **{f"argument {n}": x for n, x in enumerate(args)}})
    trace = current_trace()
    before = len(trace.eqns) if isinstance(trace, StageTrace) else 0
    try:
        yield found
    finally:
        lost, places = held.restore()
    names = [lost] if lost is not None else [*places]
    found += [f"changes `{name.removeprefix(it + '.')}`" for name in names]
    found += [f"may take items from `{name.removeprefix(it + '.')}`" for name in held.iterators]
    if isinstance(trace, StageTrace):
        effects = {e for eqn in trace.eqns[before:] for e in eqn.effects}
        found += [what for effect, what in _TOLD.items() if effect in effects]
