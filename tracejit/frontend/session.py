"""One traced run of a user's function: stand-ins, guards and what must be checked at its end."""

from __future__ import annotations

import functools
import operator
import threading
import types
from typing import Any

import numpy as np

from tracejit import dtypes, tree
from tracejit.errors import CapturedWriteError, TracedTextError, user_location
from tracejit.frontend import active, ending, rewrite, structures, watch
from tracejit.frontend.capture import Capture, NotFollowed
from tracejit.frontend.checks import array_type, leave_swapped
from tracejit.frontend.drawing import methods as _  # noqa: F401 - what generators' stand-ins can do
from tracejit.frontend.drawing import sources
from tracejit.frontend.guards import GuardSet
from tracejit.frontend.impure import BUILTINS, impure_origin
from tracejit.frontend.origins import is_library_module
from tracejit.frontend.outside import acts, iterators, questions, references
from tracejit.frontend.outside.lasting import Lasting, watched
from tracejit.frontend.outside.settings import put_back
from tracejit.frontend.paths import Node, argument, root
from tracejit.frontend.raw import outside as raw
from tracejit.frontend.rewrite import evaluated
from tracejit.frontend.rewrite.blocks import turned
from tracejit.frontend.rewrite.blocks.chosen import Choices
from tracejit.frontend.run import Run
from tracejit.frontend.shadows import (
    acting,
    behind,
    builtins_,
    cached,
    classes,
    compiled,
    containers,
    functions,
    host,
    modules,
    objects,
)
from tracejit.frontend.shadows.guarded import GuardedModule
from tracejit.frontend.shadows.refusing import Refusing, held
from tracejit.frontend.shadows.scopes import GuardedGlobals
from tracejit.frontend.text import sinks
from tracejit.frontend.text.deferred import plain_exception
from tracejit.frontend.told import kept_back, our_errors
from tracejit.numpy.captured.array import CapturedArray
from tracejit.tracing import Box


class Session(Run):
    """Turns what the function reads into stand-ins and records guards, for one run."""

    def __init__(self, capture: Capture, rewrites: bool = True) -> None:
        super().__init__(capture, rewrites)
        self.choices = Choices()

    def turn(self, x: Any, items: Any, owner: Any = None) -> None:
        turned.request(x, items, owner)

    def run(self, f: Any, args: Any = (), kwargs: Any = None, has_aux: bool = False) -> Any:
        """Runs the stand-in of `f`; when the session's outermost run ends, `ending.finish`. Nested transformations call
        it again inside."""
        name = getattr(f, "__name__", "the function")
        if active.session() is self:
            with ending.only_once(self):
                args = args if self.guarded else [watch.argument(self, x) for x in args]
                return self.stand_in(f, name)(*args, **(kwargs or {}))
        self.call_site = self.call_site or user_location()
        with active.use(self), our_errors(), self.generators, kept_back(self), put_back(self), watched(self):
            if self.guarded:
                self.generators.enter_shared()
            args = [watch.argument(self, x) for x in args]
            kwargs = {k: watch.argument(self, x) for k, x in (kwargs or {}).items()}
            lasting = Lasting(self, (args, kwargs))
            try:
                out = self.stand_in(f, name)(*args, **kwargs)
            except BaseException as e:
                if self.guarded:
                    self.untouched.restore()
                else:
                    ending.finish(self, lasting)  # effects before the exception have happened
                plain_exception(e, self.guarded, lasting.of)
                caught = [r for r in self.refusals if not isinstance(r, TracedTextError)]
                if caught and isinstance(e, Exception) and not getattr(e, "limit", False):
                    raise caught[0] from e  # the function caught it, and raised another
                raise
            if self.guarded and not self.refusals:
                self.choices.check()
                out = self.choices.leave(out)
            self.untouched.restore()
            if self.refusals:
                raise self.refusals[0]
            out = out if self.guarded else lasting.result(out, has_aux)
            ending.finish(self, lasting)
            if self.kept:
                self._check_cached(out)
        if not self.guarded:
            self.let_go()
        return self.original(out) if self.guarded else out

    def let_go(self) -> None:
        """Forget what a run met, in the end. Copies of functions and what they run over hold each other through here,
        and would wait for the garbage collector: every eager call makes some. Rules that run later keep the shadows
        of what arguments led to, which don't keep these objects."""
        for value, stand_in, node in self._seen.values():
            if node is not None and node.given and behind.is_shadow(stand_in):
                behind.state_of(stand_in).weaken(value)
        written = self.in_place, self.attributes, self.assigned, self.stored, self.adopted
        met = self.cells, self.codes, self.containers, self._seen, self._originals, self._scopes
        noted = self.first, self.sources, self.members, self.remade, self.watched
        for record in (*written, *met, *noted):
            record.clear()

    def cached(self, node: Node, value: Any) -> None:
        """Remember what a cached function gave, which the cache keeps."""
        if type(value) is tuple:
            for x in value:
                self.cached(node, x)
        elif type(value) is Box:
            self.kept.append((node, value, value.storage.version))
        elif type(value) in (list, dict, set):
            self.containers.append(containers.Copy(node, value, containers.contents(value), free=False))
            self.kept.append((node, value, None))
        elif not (callable(value) or isinstance(value, (*containers.SCALARS, np.generic, frozenset, type))):
            self.note(str(node), value, "it keeps what it gives")

    def _check_cached(self, out: Any) -> None:
        """Refuses what would be other than from the cache: arrays written into, and results."""
        given = {id(x) for x in tree.leaves(out)}
        for node, value, version in self.kept:
            if (type(value) is Box and value.storage.version != version) or id(value) in given:
                raise CapturedWriteError(what=f"what the cache of {node} holds", where=self.call_site)

    def captured(self, stand_in: Any) -> Any:
        """The container or dataclass of outside behind a stand-in, which must be that one at every call; None if
        there is none."""
        node = self._met(stand_in)
        if node is None or node.given:
            return None
        value = self._originals[id(stand_in)]
        self.check(node, "is", value)
        return value

    def given_at(self, stand_in: Any) -> Node | None:
        """The path from an argument to the container or dataclass behind a stand-in; None if there is none."""
        node = self._met(stand_in)
        return node if node is not None and node.given else None

    def _met(self, stand_in: Any) -> Node | None:
        """Where the container or dataclass behind a stand-in was met."""
        value = self._originals.get(id(stand_in), stand_in)
        if value is stand_in or id(value) not in self._seen:
            return None
        structured = objects.is_structured(value) and type(stand_in) is not Box
        followed = containers.is_container(value) or behind.is_shadow(stand_in) or structured
        return self._seen[id(value)][2] if followed else None

    def guards(self) -> GuardSet:
        """The guards of what was read so far."""
        objects = [group for group in self._objects.values() if any(map(self.varies, group))]
        return GuardSet(
            host.without_callbacks(self), list(self.array_nodes), self.given, [*objects, *self.pairs]
        )

    # ---- stand-ins -----------------------------------------------------------------------------

    def stand_in(self, value: Any, name: str = "value") -> Any:
        """The stand-in of an object that is held by identity: the function itself, an import."""
        return self.wrap(root(value, "function" if callable(value) else "global", name), value)

    def give(self, value: Any, name: str) -> Any:
        """The stand-in of the next argument that is followed: paths begin at it, whatever object it is."""
        node = argument(self.given, name)
        self.given += 1
        made = self.wrap(node, value)
        return made if self.is_stand_in(made) else self.remember(value, made, node)

    def wrap(self, node: Node, value: Any) -> Any:
        """The stand-in of `value`, read at `node`; records guards. What can't be followed may be held, but not used."""
        try:
            return self._wrapped(node, value)
        except NotFollowed as e:
            known = self._seen.get(id(value))
            if known is not None and type(known[1]) is Refusing:  # it is one object, whatever it is called by
                return known[1]
            return self.remember(value, Refusing(e.thing, value, compiled.member_of(self, node, value)), node)

    def _wrapped(self, node: Node, value: Any) -> Any:
        cls = type(value)
        structured = objects.is_structured(value)
        own = type(cls.__getattribute__) is types.FunctionType and not structured
        if own and not behind.is_shadow(value):
            self.note(str(node), value, "its class defines __getattribute__")
            if not self.guarded:  # nobody asks it more than the user does
                return self.assigned.setdefault(id(value), value)
        if type(cls).__hash__ is None:  # a metaclass whose classes can't be looked up
            return objects.wrap_object(self, node, value)
        if cls in containers.SCALARS or isinstance(value, np.generic):
            return self._scalar(node, value)
        if cls in modules.ARRAYS or structured:
            return self._array(node, value)
        ours = modules.stand_in_for(value)
        if ours is not None:
            self.check(node, "is", value)
            return ours
        if self.draws and sources.is_followed(value):
            return sources.captured(self, node, value)
        ours = compiled.pointer(self, node, value)
        ours = acting.object_for(value) if ours is None and self.guarded and not node.given else ours
        if ours is not None:
            self.check(node, "is", value)
            return self.known(value) or self.remember(value, ours, node)
        if (handler := _HANDLERS.get(cls)) is not None:
            return handler(self, node, value)
        if watch.is_derived(self, value) or containers.is_container(value):
            return containers.wrap_container(self, node, value)
        if isinstance(value, type):
            return self._class(node, value)
        if watch.calls_by_name(cls):
            watch.release(self)
        acts.meet(self, value)
        ours = compiled.wrap(self, node, value)
        questions.expect_partial(self, cls)
        return objects.wrap_object(self, node, value) if ours is None else ours

    def code_of(self, fn: types.FunctionType) -> types.CodeType:
        """The code that the copy of `fn` runs: its loops and branches are captured where a program is traced."""
        captured, sized = self.guarded and self.rewrites, id(fn.__code__) in self.sized
        if not (captured or sized):
            return fn.__code__
        code, reason = rewrite.rewritten_code(fn.__code__, captured, sized)
        if captured and reason is not None:
            watch.stays(self, fn, reason)
        watch.runs(self, fn.__code__, code)
        return code

    def wrap_dict(self, node: Node, value: dict[str, Any]) -> dict[str, Any]:
        """A copy of a function's attributes."""
        return (containers.wrap_dict if self.guarded else functions.wrap_functions)(self, node, value)

    def _scalar(self, node: Node, value: Any) -> Any:
        if isinstance(value, (float, complex, np.generic)) or type(value) is int:
            ours = self.capture.scalar(node, value)
            if ours is not NotImplemented:
                self.check(node, "type", type(value))
                if type(value) is int:
                    self.check(node, "near", self.capture.near)
                self.array_nodes.append(node)
                return ours
        kind = "is" if value is None or isinstance(value, bool) or _is_long(value) else "value"
        self.check(node, kind, value)
        return value

    def _array(self, node: Node, value: Any) -> Any:
        known = self.known(value)
        if not self.guarded:
            if type(value) is not np.ndarray or known is not None:
                return value if known is None else known
            return self.remember(value, self.capture.array(node, value), node)
        if known is not None:
            self.alias(node, value)
            return known
        if type(value) is not Box and (ours := objects.wrap_structured(self, node, value)) is not None:
            return ours
        if type(value) is not Box and not dtypes.holds_numbers(value.dtype):
            self.same(node, value)
            self.note(str(node), value, "an array that does not hold numbers")
            return value
        if self.capture.knows(node):
            return structures.known(self, node, value)
        self.check(node, "box" if type(value) is Box else "array", array_type(value))
        self.array_nodes.append(node)
        self.swaps_bytes = self.swaps_bytes or not (type(value) is Box or value.dtype.isnative)
        if self.over and not self.capture.follows_devices:
            leave_swapped(value)
        array = value.raw() if type(value) is CapturedArray else value  # an enclosing eager run's
        return self.remember(value, self.capture.array(node, array), node)

    def _module(self, node: Node, value: types.ModuleType) -> Any:
        if isinstance(value, modules.RebindModule):
            return value
        self.check(node, "is", value)
        if isinstance(value, GuardedModule):
            if vars(value)["_tj_session"] is self:
                return value
            value = vars(value)["_tj_module"]  # left in a closure by an enclosing run
        ours = modules.rebound(value)
        if ours is not None:
            return ours
        if is_library_module(value):
            if self.guarded and impure_origin(value):
                self.generators.enter(str(node), value)
            return acting.as_it_acts(value) if self.guarded else value
        known = self.known(value)
        if known is None:
            scope = self.scope(vars(value), value.__name__)
            known = self.remember(value, GuardedModule(self, value, scope))
        return known

    def _class(self, node: Node, value: type) -> Any:
        self.check(node, "is", value)
        self.orders(value)
        if watch.calls_by_name(value):
            watch.release(self)
        ours = classes.traced_class(compiled.class_of(value) or value)
        questions.expect_partial(self, value)
        if ours is None:
            if not issubclass(value, BaseException):  # which `except` needs as they are
                self.from_library(node, value)
            watch.watch_class(self, value)
        if self.guarded and any("__del__" in vars(base) for base in value.__mro__[:-1]):
            self.note(f"class `{value.__name__}`", value, "its `__del__` would run while tracing")
        return ours or value

    def builtin(self, scope: GuardedGlobals, name: str, value: Any) -> Any:
        """What a name found in builtins gives."""
        if name in _RECORDED and self.guarded:
            return _RECORDED[name]
        if name in BUILTINS:
            self.refuse(f"builtin `{name}`", value, BUILTINS[name])
        if name == "__import__":
            return builtins_.importer(self, scope)
        return behind.noted(builtins_.STAND_INS.get(name, value), value)

    def scope(self, real: dict[str, Any], module: str | None) -> GuardedGlobals:
        """The guarded globals over `real`, one a run."""
        known = self._scopes.get(id(real))
        if known is None:
            self._main = self._main or module
            prefix = "" if module == self._main or not module else f"{module}."
            known = self._scopes[id(real)] = GuardedGlobals(self, real, prefix)
        return known

    def original(self, value: Any) -> Any:
        """The user's own function or object behind a stand-in, also inside lists, tuples and dicts. Containers stay
        copies and shadows of pytrees stay shadows: they hold traced arrays."""
        if type(value) in (list, tuple, dict):
            return self._with_originals(value)
        if type(value) is CapturedArray:
            return value.plain
        if type(value) is Refusing:
            return held(value)
        shadow = behind.is_shadow(value) and not objects.is_node(type(value))
        if type(value) in (types.FunctionType, property) or shadow:
            return self._originals.get(id(value), value)
        if not self.guarded and "_tj_class" in vars(type(value)):
            self.assigned[id(value)] = value
        classes.demote(value)
        return classes.users_class(value)

    def _with_originals(self, value: Any) -> Any:
        items = list(value.values()) if type(value) is dict else value
        new = [self.original(x) for x in items]
        if all(map(operator.is_, new, items)) or (self.guarded and self._met(value) is not None):
            return value  # of outside: it is handed back itself
        made = self.remade.of(value, new)
        self.choices.stand_in(made, value)
        return made

    def where(self, scope: GuardedGlobals, name: str) -> str | None:
        """The line that assigns a global."""
        for code, owner in self.codes:
            found = functions.find_store(code, ("STORE_GLOBAL", "DELETE_GLOBAL"), name)
            if found and owner is scope:
                return found
        return None


def _is_long(value: Any) -> bool:
    return isinstance(value, (str, bytes)) and len(value) > 1000


#: Builtins of which what they do becomes part of the program.
_RECORDED: dict[str, Any] = {"print": sinks.print_, "eval": evaluated.evaluate}
_HANDLERS: dict[type, Any] = {
    types.FunctionType: compiled.wrap_function,
    types.MethodType: functions.wrap_method,
    types.BuiltinMethodType: functions.wrap_builtin,
    types.MethodWrapperType: functions.wrap_builtin,
    functools.partial: functions.wrap_partial,
    types.SimpleNamespace: containers.wrap_namespace,
    threading.local: containers.wrap_namespace,
    cached.LRU: cached.wrap_cached,
    np.vectorize: compiled.wrap_numpys,
    **dict.fromkeys((types.ModuleType, GuardedModule, modules.RebindModule), Session._module),
    **iterators.HANDLERS | references.HANDLERS,
    **dict.fromkeys(raw.MUTABLE, raw.wrap),
}
