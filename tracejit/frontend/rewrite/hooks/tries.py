"""`try` and `with` around checks of compiled code: they fail when the program runs, where no handler is."""

from __future__ import annotations

import contextlib
import dis
import functools
import itertools
import opcode
import re
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.control.callbacks.journal import may_raise
from tracejit.errors import (
    CaughtCheckError,
    TracedTextError,
    TracejitError,
    UnfollowedError,
    is_internal,
    refusals,
)
from tracejit.frontend.origins import is_library_class, is_library_file, is_library_function
from tracejit.frontend.rewrite.blocks.decisions import capturing, place
from tracejit.frontend.rewrite.hooks.said import by_numpy, denied
from tracejit.frontend.rewrite.lines import by_line
from tracejit.frontend.shadows import behind, classes
from tracejit.interpreters.autodiff.tangents import TangentTrace
from tracejit.interpreters.stage import StageTrace
from tracejit.ir.jaxpr import JOURNAL, Eqn, sub_jaxprs
from tracejit.numpy.boxes.conversions import class_of
from tracejit.numpy.dispatch import plain
from tracejit.tracing import Box, caller, current_trace


def _program() -> StageTrace | None:
    """The program that is being recorded."""
    trace = current_trace()
    while trace is not None and (not isinstance(trace, StageTrace) or isinstance(trace, TangentTrace)):
        trace = trace.parent
    return trace


class tried:
    """The body of a `try` with handlers; `kinds()` gives the exceptions that they catch, `named` whether each has a
    name for what it catches.

    Where the body has a check that raises one of these, no handler would be run by the program: Python does the calls
    over in which it fails. Raises CaughtCheckError at the end of the body where it can't, and where a handler could
    look at an exception of tracejit's, which says other things than NumPy's."""

    def __init__(self, kinds: Callable[[], tuple[Any, ...]], named: tuple[bool, ...]) -> None:
        self.kinds = kinds
        self.named = named

    def __enter__(self) -> None:
        self.program = _program() if capturing() is not None else None
        self.start = len(self.program.eqns) if self.program is not None else 0

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if self.program is None:
            return
        caught = tuple(k for k in _flat(self.kinds()) if isinstance(k, type))
        if error is not None:
            said = None
            if isinstance(error, caught):
                _refuse_depth(error)
                said = self._said(error)
            if said is not None:
                self._look_at_checks(caught)
                raise said from None
            self._ask(error, caught)
            doubtful = not refusals.met() and isinstance(error, caught) and self._is_doubtful(error)
            if doubtful and (self._looks_at(error) or not _is_of_a_new_attribute(error)):
                raise UnfollowedError(
                    what=f"the {type(error).__name__} that is caught here", reason=_DOUBT
                ) from error
            if refusals.met() or not isinstance(error, caught):
                return
        self._look_at_checks(caught)

    def _said(self, error: Any) -> BaseException | None:
        """What NumPy or Python says instead of `error`, which is withdrawn then; None where that is not known."""
        said = by_numpy(error) if not refusals.met() and self._looks_at(error) else None
        alone = all(e is error for e in refusals.met())
        if said is None and alone and self._is_unclear(error):
            said = by_line(error)
            if said is not None:
                refusals.withdraw(lambda e: e is error)
        return said

    def _look_at_checks(self, caught: tuple[type, ...]) -> None:
        """Let Python do calls over in which a check of the body fails that a handler catches."""
        for eqn, raises in _failures(self.program.eqns[self.start :] if self.program is not None else ()):
            if issubclass(raises, caught) and not getattr(raises, "redo", False):
                _leave_to_python(eqn, raises, place(self.kinds, self.kinds.__code__.co_firstlineno))

    def _is_unclear(self, error: Any) -> bool:
        """Whether plain Python may say something else than `error`."""
        session = capturing()
        texts = type(error) is TypeError and session is not None and session.has_texts
        if isinstance(error, TracejitError) and error.asks:
            return False
        of_ours = isinstance(error, TracejitError) and (error.limit or self._looks_at(error))
        return texts or of_ours or self._is_doubtful(error)

    def _ask(self, error: Any, caught: tuple[type, ...]) -> None:
        """C code raises TypeError for text of traced values, which is no string. Raises TracedTextError where that is
        caught."""
        session = capturing()
        if isinstance(error, TracejitError) and not error.limit and self._looks_at(error):
            check = error.where or "an operation"
            line = self.kinds.__code__.co_firstlineno
            raise CaughtCheckError(
                kind=type(error).__name__, check=check, where=place(self.kinds, line)
            ) from error
        if (
            type(error) is TypeError
            and isinstance(error, caught)
            and session is not None
            and session.has_texts
        ):
            raise TracedTextError(aval="value", use=f"an exception that is caught ({error})") from error

    def _looks_at(self, error: Any) -> bool:
        """Whether the handler that catches `error` has a name for it."""
        n = self._handler(error)
        return n is not None and self.named[n]

    def _handler(self, error: Any) -> int | None:
        """The handler that catches `error`."""
        for n, kind in enumerate(self.kinds()):
            if isinstance(error, tuple(k for k in _flat((kind,)) if isinstance(k, type))):
                return n
        return None

    def _is_doubtful(self, error: Any) -> bool:
        return _is_doubtful(error) or denied(error, lambda e: self._handler(e) == self._handler(error))


def _leave_to_python(eqn: Eqn, raises: type[BaseException], where: str) -> None:
    """Let Python do the calls over in which the check `eqn` fails, if it may. What an entry does (a print into a
    closed file) fails when the entries before it have been done: such a call can't be done over."""
    check = f"{eqn.source or eqn.op.name}"
    refusal = functools.partial(CaughtCheckError, kind=raises.__name__, check=check, where=where)
    session = capturing()
    if session is None or JOURNAL in eqn.effects or not caller.does_over():
        raise refusal()
    with refusals.into(None):
        session.done_over.append(refusal())
    session.decisions[where, "try"] = f"Python does a call over in which {check} raises {raises.__name__}"


def _refuse_depth(error: Any) -> None:
    """Refuse an answer that depends on how deep calls may be in each other: those of traced code are deeper."""
    if isinstance(error, RecursionError) and not refusals.met():
        raise UnfollowedError(what="the RecursionError that is caught here", reason=_DEPTH) from error


class _Suppressing:
    """A context manager of the user's that may swallow exceptions: a handler of those that the checks of its block
    raise."""

    def __init__(self, manager: Any, where: str) -> None:
        self.manager, self.where = manager, where
        self.program = _program()
        self.start = 0

    def __enter__(self) -> Any:
        given = self.manager.__enter__()
        self.start = len(self.program.eqns) if self.program is not None else 0
        return given

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> Any:
        _refuse_depth(error)
        if self.program is not None and error is None:
            for eqn, raises in _failures(self.program.eqns[self.start :]):
                if not getattr(raises, "redo", False):
                    _leave_to_python(eqn, raises, self.where)
        return self.manager.__exit__(kind, error, traceback)


def managed(manager: Any, line: Callable[[], Any]) -> Any:
    """What `with manager:` enters."""
    if capturing() is None or not _may_suppress(manager):
        return manager
    return _Suppressing(manager, place(line, line.__code__.co_firstlineno))


def _may_suppress(manager: Any) -> bool:
    """Whether its `__exit__` may return something that is true; of Python's own, those that are known to do so."""
    cls = classes.users_class(type(behind.original(manager)))
    leaves = behind.find(cls.__mro__, "__exit__")[1]
    if isinstance(manager, (contextlib.suppress, contextlib.ExitStack)):
        return True
    if not isinstance(leaves, types.FunctionType) or is_library_function(leaves):
        return False
    steps = [i for i in dis.get_instructions(leaves) if i.opname not in ("NOP", "CACHE")]
    ends = [before for before, i in itertools.pairwise(steps) if i.opname == "RETURN_VALUE"]
    constant = [i.opname == "LOAD_CONST" and not i.argval for i in ends]
    returned = [i.argval for i in steps if i.opname == "RETURN_CONST"]  # Python 3.12
    return not all(constant) or any(returned)


_DEPTH = "calls of traced code lie deeper in each other than Python's"
_DOUBT = "a library or a built-in function may have raised it for what stands for a traced value"


def _is_doubtful(error: BaseException) -> bool:
    """Whether library code raised `error`, or a built-in function that was called by the user's code and does not
    take a class; or ours, which may not take what NumPy takes. What the user's code raises is what plain Python raises,
    and so is what comes of assignments: there the target is at fault, such as a tuple, and not the value. Errors of
    ours that say what is wrong with values (IndexError, ValueError) are NumPy's, too, and so is what a traced value's
    class has not. Where the message is about a traced array, plain Python's is another."""
    if isinstance(error, (TypeError, AttributeError)) and _is_of_traced(error):
        return True
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    if at is None or (isinstance(error, TypeError) and _OF_PLAIN.match(str(error))):
        return False
    if isinstance(error, AttributeError) and type(error.obj) is Box and error.name is not None:
        return hasattr(class_of(error.obj), error.name)
    if type(error) is AttributeError and _is_looked_up(error.obj, at.tb_frame):
        return False
    code = at.tb_frame.f_code
    plain = at.tb_lasti >= 0 and code.co_code[at.tb_lasti] in _AS_PYTHON
    if isinstance(error, (FloatingPointError, Warning)) and not plain:
        return True  # what is computed while tracing is not only the function's
    if is_internal(code.co_filename):
        return isinstance(error, (TypeError, AttributeError))
    if is_library_file(code.co_filename):
        return not _is_of_known_values(error)
    return isinstance(error, (TypeError, AttributeError, BufferError)) and not plain


def _is_of_known_values(error: BaseException) -> bool:
    """Whether a library's function raised it that was called with nothing but values that are known."""
    at = error.__traceback__
    while at is not None and at.tb_frame.f_code is not plain.__code__:
        at = at.tb_next
    given = {} if at is None else at.tb_frame.f_locals
    leaves = tree.leaves((given.get("args", ()), given.get("kwargs", {})))
    return at is not None and all(type(x) in _KNOWN for x in leaves)


_KNOWN = frozenset({bool, int, float, complex, str, bytes, type(None), np.ndarray, np.float64, np.int64})


def _is_looked_up(x: Any, frame: types.FrameType) -> bool:
    """Whether a look-up of an attribute has failed in `frame` of what is in traced code what it is in Python: a
    container or text, or an object of a class of the user's, of which the missing attribute is guarded."""
    if frame.f_globals.get("__name__") not in _LOOKING_UP and is_library_file(frame.f_code.co_filename):
        return False  # that of a library, or ours
    return type(x) in _PLAIN_CLASSES or not is_library_class(classes.users_class(type(x)))


#: Where attributes are looked up for the user's code.
_LOOKING_UP = frozenset(
    f"tracejit.frontend.{name}"
    for name in ("shadows.kinds", "shadows.attributes", "shadows.classes", "members")
)
_PLAIN_CLASSES = frozenset({list, tuple, dict, set, frozenset, str, bytes, type(None)})


def _is_of_a_new_attribute(error: BaseException) -> bool:
    """Whether an attribute of a traced array was assigned that neither arrays nor numbers have or can be given."""
    found = _NO_ATTRIBUTE.match(str(error)) if type(error) is AttributeError else None
    return found is not None and not any(hasattr(c, found[1]) for c in (np.ndarray, np.float64, complex, int))


def _is_of_traced(error: BaseException) -> bool:
    """Whether Python's message names the class of traced arrays."""
    return any(type(text) is str and f"'{Box.__name__}'" in text for text in error.args)


_NO_ATTRIBUTE = re.compile(rf"'{Box.__name__}' object has no attribute '(\w+)'")
#: What built-in functions say of a value of Python's own or NumPy's classes, and ours of traced values that are such.
_OF_PLAIN = re.compile(
    r"'(int|float|complex|bool|str|bytes|NoneType|list|tuple|dict|set|numpy\.\w+)' object (is|does) not "
    r"|unhashable type: '(list|dict|set|bytearray|numpy\.ndarray)'"
)
#: Instructions whose exceptions do not depend on what a traced value is.
_AS_PYTHON = {
    opcode.opmap[n]
    for n in ("RAISE_VARARGS", "RERAISE", "STORE_SUBSCR", "DELETE_SUBSCR", "STORE_ATTR", "DELETE_ATTR")
}


def _flat(kinds: Any) -> Iterator[Any]:
    """The classes among what `except` names, tuples of tuples included."""
    for k in kinds if isinstance(kinds, tuple) else (kinds,):
        if isinstance(k, tuple):
            yield from _flat(k)
        else:
            yield k


def _failures(eqns: Iterable[Eqn]) -> Iterator[tuple[Eqn, type[BaseException]]]:
    """The checks among equations, those in loops and branches included, with what they raise."""
    for e in eqns:
        if not e.effects & {"error", JOURNAL}:
            continue
        inner = [f for sub in sub_jaxprs(e.params) for f in _failures(sub.eqns)]
        yield from inner
        yield from ((e, kind) for kind in may_raise(e.params.get("callback")))
        if not inner and "error" in e.effects:
            yield e, _raised(e.params.get("failure"))


def _raised(failure: Any) -> type[BaseException]:
    """What a check raises whose param is `failure`. To make a refusal would end the trace."""
    if failure is None:
        return np.linalg.LinAlgError
    known = getattr(failure, "error", None)
    if isinstance(known, type):
        return known
    try:
        return type(failure((0, 0, 0), None))
    except (
        Exception
    ) as error:  # ours: the user's handler around this `try` must not take it for the program's
        raise UnfollowedError(what="a check inside of `try`", reason="nobody knows what it raises") from error
