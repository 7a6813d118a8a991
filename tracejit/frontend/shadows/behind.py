"""What is behind a shadow: the object, what was read of it, and what the run has written to it."""

from __future__ import annotations

import contextlib
import operator
import threading
import types
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.errors import CapturedWriteError
from tracejit.frontend.journal import GONE
from tracejit.frontend.paths import Members, Node
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.numpy.ufuncs import Ufunc
from tracejit.tracing import Box

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

MISSING = object()


class _Apart(threading.local):
    """While keys go from a dict or set into a copy, which are not equal: nobody asks the user's `__eq__` for that."""

    on = False

    def __enter__(self) -> None:
        self.before, self.on = self.on, True

    def __exit__(self, *_: object) -> None:
        self.on = self.before


apart = _Apart()


class _Making:
    """The stand-in of a class, of which objects are in traced code; `classes` says what it is. And what does as the
    `__init__` that was generated for a dataclass does (`copied`), where that has to be followed."""

    stand_in: Callable[[type], type | None]
    init_of: Callable[[type, Any], Any] = staticmethod(lambda owner, raw: None)


making = _Making()
#: All shadow classes.
classes: weakref.WeakSet[type] = weakref.WeakSet()


#: By identity, functions and classes that traced code has: these, and those of libraries that they stand for.
_library: dict[int, tuple[Any, Any]] = {}


def noted(ours: Any, real: Any) -> Any:
    """`ours`, which traced code gets for `real`."""
    if ours is not real and (type(ours) is types.FunctionType or isinstance(ours, type)):
        _library[id(ours)] = ours, real
    return ours


def of_library(x: Any) -> Any:
    """What a library has where traced code has `x`; `x` itself if it stands for nothing of a library's."""
    if type(x) is Ufunc:
        return x.np
    if isinstance(x, types.ModuleType):
        return vars(x).get("_tj_module", x)
    if id(x) in _library:
        return _library[id(x)][1]
    return x.tj_own if type(x).__module__.partition(".")[0] == "tracejit" and hasattr(x, "tj_own") else x


class State:
    """Behind a shadow: the object, the path to it, the attributes read so far, and those written (GONE: deleted).

    `names`: what stands for the object's `__dict__`, once that was asked for; it has what is written since then."""

    __slots__ = ("_held", "_ref", "cache", "missed", "names", "node", "session", "writes")

    def __init__(self, session: Run, node: Node, original: Any) -> None:
        self.session = session
        self.node = node
        self._held = original
        self._ref: Any = None
        self.cache: dict[str, Any] = {}
        self.writes: dict[str, Any] = {}
        self.names: dict[str, Any] | None = None
        self.missed: AttributeError | None = None  # of the class's own `__getattr__`, which was asked

    @property
    def original(self) -> Any:
        """The object; None if it was an argument, and is gone."""
        return self._held if self._ref is None else self._ref()

    def weaken(self, original: Any) -> None:
        """Keep the object no longer alive, where that can be known."""
        with contextlib.suppress(TypeError):
            self._ref = weakref.ref(original)
            self._held = None


def is_shadow(x: Any) -> bool:
    """Whether `x` is the shadow of a captured object."""
    return "_tj_state" in vars(type(x)) and type(x) in classes


def state_of(shadow: Any) -> State:
    """The state behind a shadow."""
    return vars(type(shadow))["_tj_state"].__get__(shadow)


def original(x: Any) -> Any:
    """The object behind a shadow; anything else as it is."""
    return state_of(x).original if is_shadow(x) else x


def written(state: State, name: str) -> Any:
    """What the run has assigned to an attribute: GONE if it has deleted it, MISSING if it has left it alone."""
    if state.names is not None and name not in state.writes:
        if name in state.names:
            return state.names[name]
        return GONE if name in instance_dict(state.original) else MISSING
    return state.writes.get(name, MISSING)


def no_attribute(original: Any, name: str) -> AttributeError:
    text = f"{type(original).__name__!r} object has no attribute {name!r}"
    return AttributeError(text, name=name, obj=original)


class Kept:
    """A descriptor of ours of an attribute that objects keep elsewhere than in their `__dict__`, as slots are."""

    def cast(self, value: Any) -> Any:
        """What the attribute holds when `value` is assigned."""
        raise NotImplementedError


def keeps(raw: Any) -> bool:
    """Whether what a class has by a name says where objects keep that attribute: a slot, or one of ours."""
    return type(raw) is types.MemberDescriptorType or isinstance(raw, Kept)


def stays(cls: type) -> bool:
    """Whether objects of a class of ours are only there while a function is traced."""
    return "_tj_stays" in vars(cls)


def is_slot(original: Any, name: str) -> bool:
    return keeps(find(type(original).__mro__, name)[1])


def find(mro: tuple[type, ...], name: str) -> tuple[Any, Any]:
    """The first class of `mro` that has `name`, and what it has."""
    for base in mro:
        if name in vars(base):
            return base, vars(base)[name]
    return None, MISSING


def instance_dict(obj: Any) -> dict[str, Any]:
    try:
        return object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return {}


def put(self: Any, name: str, value: Any) -> None:
    """Let the object have an attribute, in this run; what its class says about that was asked."""
    state = state_of(self)
    if not (
        hasattr(state.original, "__dict__") and find(type(state.original).__mro__, name)[0] is not object
    ):
        if not is_slot(state.original, name):
            raise refused(state, name)
    if state.names is not None and not is_slot(state.original, name):
        state.names[name] = value
    else:
        state.writes[name] = value


def at_once(state: State, wrap: Callable[[State, str], Any], name: str, *value: Any) -> None:
    """Assign an attribute of the object itself, where effects happen at once, or delete it. Its `__dict__`, where the
    run has asked for it, shows what that has assigned: more than one entry, perhaps, as by a property. `wrap` makes the
    stand-in of an entry."""
    before = dict(instance_dict(state.original)) if state.names is not None else {}
    state.session.acted(f"changes `{state.node.text}.{name}`")
    state.session.assigned[id(state.original)] = state.original
    if value:
        setattr(state.original, name, *value)
    else:
        delattr(state.original, name)
    if state.names is not None:
        after = instance_dict(state.original)
        for key in {**before, **after}:
            if key not in after:
                state.names.pop(key, None)
            elif before.get(key, MISSING) is not after[key]:
                state.names[key] = wrap(state, key)


def keep_at_once(state: State, name: str, value: Any) -> None:
    """Let the object keep what a cached property gave, past its class, where effects happen at once."""
    instance_dict(state.original)[name] = state.session.original(value)
    state.session.assigned[id(state.original)] = state.original
    if state.names is not None:
        state.names[name] = value


def owns(original: Any, name: str) -> bool:
    """Whether an attribute is the object's own, not its class's."""
    return name in instance_dict(original) or (is_slot(original, name) and hasattr(original, name))


def keep_presence(state: State, name: str, own: bool) -> None:
    """Guard whether an attribute is there that the run, which may have assigned it before, has deleted."""
    if not is_slot(state.original, name):
        state.session.check(state.node.attr("__dict__"), "present" if own else "absent", name)
    elif own:
        state.session.check(state.node.attr(name), "type", type(getattr(state.original, name)))
    else:
        state.session.check(state.node, "missing", name)


def refused(state: State, name: str) -> CapturedWriteError:
    return CapturedWriteError(what=f"attribute `{state.node.text}.{name}`")


def class_node(owner: type, name: str) -> Node:
    """The path to a member of a class."""
    return Members(owner).item(name, f"{owner.__name__}.{name}")


def not_overridden(session: Any, cls: type, owner: type | None, name: str, after: type | None = None) -> None:
    """Guard that no class of `cls` before `owner` gets such an attribute, of those `after` one of them if that is
    given; that none does if `owner` is None."""
    mro = cls.__mro__
    start = 0 if after is None else mro.index(after) + 1
    for base in mro[start : len(mro) if owner is None else mro.index(owner)]:
        if base is not object:  # which nobody can give any
            session.check(Members(base), "absent", name)


def slots(cls: type) -> list[str]:
    """The names of all slots of a class."""
    return [n for base in cls.__mro__ for n, x in vars(base).items() if type(x) is types.MemberDescriptorType]


#: Methods that Python calls itself and takes nothing but a value of its own from, and how to make one.
_ANSWERS: dict[str, Callable[[Any], Any]] = {
    "__bool__": bool,
    "__float__": float,
    "__complex__": complex,
    "__int__": int,
    "__index__": operator.index,
    "__len__": operator.index,
}


#: Methods that NumPy calls with a function of its own, of which traced code has another.
_ASKED_BY_NUMPY = ("__array_ufunc__", "__array_function__")
_FUNCTIONS = (np.ufunc, types.FunctionType, types.BuiltinFunctionType, type(np.sum))


def answering(name: str, method: Any) -> Any:
    """The special method `name` for Python to call; what it is made from is its `followed`."""
    if name in _ASKED_BY_NUMPY:
        return _given_ours(method)
    convert = _ANSWERS.get(name)
    if convert is None:
        return method

    def answer(*args: Any) -> Any:
        out = method(*args)
        return convert(out) if type(out) is Box else out

    answer.followed = method  # type: ignore[attr-defined]
    return answer


def _given_ours(method: Any) -> Any:
    def given(*args: Any, **kwargs: Any) -> Any:
        args = tuple(NUMPY_TO_TRACEJIT.get(a, a) if isinstance(a, _FUNCTIONS) else a for a in args)
        return method(*args, **kwargs)

    given.followed = method  # type: ignore[attr-defined]
    return given
