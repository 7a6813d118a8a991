"""What a program's run ends with where results alone do not say it: one generated function makes the result, and lets
the places of the journal hold what the run left in them.

For a method that does `self.t += dt`, `self.history.append(x)` and returns `self`, it is

    def store(x0, x1, o0):
        v0 = o0.history
        o0.t = x0
        v0.extend((x1,))
        return o0

`x0` … are the leaves: what the program computes, or hands back. `o0` … are the objects among the arguments, `a0` …
other arguments. What is read of outside is read before anything is written, and all values are made before that too,
so that nothing is written if making one fails.
"""

from __future__ import annotations

import collections
import enum
import types
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from tracejit import frontend
from tracejit.api import structures
from tracejit.api.jit.handed import Path
from tracejit.api.jit.listed import Listed, grows, in_pieces, is_long, items, refill
from tracejit.api.jit.parts import part_of
from tracejit.errors import UnfollowedError
from tracejit.frontend.journal import GONE, Change
from tracejit.frontend.lists import numbered
from tracejit.frontend.lists.columns import Columns
from tracejit.frontend.lists.made import Lines
from tracejit.frontend.lists.tables import parts
from tracejit.frontend.origins import is_library_class, is_library_function, why_not
from tracejit.frontend.paths import APPLIED, ATTR, CELL, CONST, GIVEN, ITEM, Node
from tracejit.frontend.raw.numbers import Raw
from tracejit.frontend.rewrite.blocks.chosen import known
from tracejit.frontend.shadows import behind, classes, containers
from tracejit.frontend.shadows.scopes import GuardedGlobals
from tracejit.frontend.text.deferred import Text, recipe_of
from tracejit.frontend.variants.node import Variant, numbers_of, of_numbers
from tracejit.ir.values import Value
from tracejit.numpy.boxes.sharing.references import row_of
from tracejit.tracing import Box, box

_serial = count()
_PLAIN = (*map(type, (None, True, 0, 0.0, 0j, "", b"", ..., NotImplemented)), range, slice, np.dtype)
_VALUES = (int, float, complex, str)
_DISPLAYS = {list: "[{}]", tuple: "({})", set: "{{{}}}"}


class Store:
    """The function of one program. `leaves`: what its first parameters stand for, as the run saw it. `roots`: what the
    others are, ('o', number of an object) or ('a', argument). `changes`: what it writes, `places` to; `grown`: lists
    to which it only appends."""

    def __init__(self, session: frontend.Session, given: dict[int, Path]) -> None:
        self.changes: list[Change] = session.changes
        self.places = {place for change in session.changes for place in change.places()}
        self.grown = {change.node.place() for change in session.changes if grows(change)}
        self.leaves: list[Any] = []
        self.roots: dict[tuple[str, Any], str] = {}
        self.function: Callable[..., Any] | None = None
        self._run = session, given

    @property
    def writes(self) -> bool:
        """Whether it changes anything of outside."""
        return bool(self.changes)

    def write(self, out: Any) -> None:
        """Make the function, for a run whose result is `out`.

        Raises:
            UnfollowedError: a place is given something that can't be made anew in each call.
        """
        first = _Writer(self, *self._run, None)
        first.all(out)
        self.leaves, self.roots = [], {}
        w = _Writer(self, *self._run, first.storages)
        result = w.all(out)
        parameters = [*(f"x{n}" for n in range(len(self.leaves))), *self.roots.values()]
        body = "".join(f"    {line}\n" for line in [*w.made, *w.put, f"return {result}"])
        source = f"def store({', '.join(parameters)}):\n{body}"
        exec(compile(source, f"<tracejit store {next(_serial)}>", "exec"), w.names)
        self.source, self.function = source, w.names["store"]

    def let_go(self) -> None:
        """Forget the run."""
        del self._run
        self.leaves = []
        self.changes = [
            c._replace(value=None, before=None if c.before is None else [], where=None) for c in self.changes
        ]

    def run(self, leaves: list[Any], call: Any) -> Any:
        """Store, and give the result."""
        roots = [call.objects[key] if kind == "o" else call.argument(key) for kind, key in self.roots]
        return self.function(*leaves, *roots)  # type: ignore[misc]


class _Writer:
    """Writes the lines: `made` values, and what is `put` in their places. `elsewhere`: storages of arrays that are
    seen outside of long lists; None to find them, as `storages`."""

    def __init__(
        self, store: Store, session: frontend.Session, given: dict[int, Path], elsewhere: set[int] | None
    ) -> None:
        self.store, self.session, self.given = store, session, given
        self.made: list[str] = []
        self.put: list[str] = []
        self.names: dict[str, Any] = {}
        self.known: dict[int, str] = {}  # of values by id
        self.nodes: dict[Any, str] = {}  # of places
        self.open: set[int] = set()  # containers that are being made
        self.met: dict[int, list[tuple[Any, str]]] = {}  # those that are made, by what they may be
        self.held: list[Any] = []  # so that ids stay taken
        self.elsewhere = elsewhere
        self.arrays = Lines(self, part_of)
        self.storages: set[int] = set()

    def all(self, out: Any) -> str:
        """Write everything; gives the expression of the result."""
        for change in self.store.changes:
            self.change(change)
        return self.value(out, "the result")

    # -- expressions

    def const(self, value: Any) -> str:
        """The name of a global that holds `value`."""
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def new(self, expression: str) -> str:
        """A variable for an expression."""
        name = f"v{len(self.made)}"
        self.made.append(f"{name} = {expression}")
        return name

    def at(self, node: Node) -> str:
        """What is at a path."""
        if node.kind == CONST:
            return self.const(node.key)
        if node.kind == GIVEN:
            return self.store.roots.setdefault(("o", node.key), f"o{node.key}")
        place = node.place()
        if place not in self.nodes:
            self.nodes[place] = self.new(self._step(self.at(node.parent), node))  # type: ignore[arg-type]
        return self.nodes[place]

    def _step(self, owner: str, node: Node) -> str:
        if node.kind == ITEM:
            return f"{owner}[{self.literal(node.key)}]"
        if node.kind == CELL:
            return f"{owner}.cell_contents"
        if node.kind == APPLIED:
            return f"{self.const(node.key)}({owner})"
        return f"{owner}.{node.key}" if node.key.isidentifier() else f"getattr({owner}, {node.key!r})"

    def literal(self, x: Any) -> str:
        short = type(x) in (str, bool, type(None)) or (type(x) is int and x.bit_length() < 256)
        return repr(x) if short and len(repr(x)) < 80 else self.const(x)

    def argument(self, path: Path) -> str:
        """A container among the arguments."""
        key, steps = path
        text = self.store.roots.setdefault(("a", key), f"a{key}")
        for n in range(len(steps)):
            place = ("a", key, steps[: n + 1])
            if place not in self.nodes:
                is_attribute, k = steps[n]
                self.nodes[place] = self.new(f"{text}.{k}" if is_attribute else f"{text}[{self.literal(k)}]")
            text = self.nodes[place]
        return text

    def value(self, x: Any, what: str) -> str:
        """What the run has as `x`, for the user. Raises UnfollowedError about `what`."""
        cls = type(x)
        if cls in _PLAIN or isinstance(x, np.dtype):
            return self.literal(x)
        if id(x) in self.known:
            return self.known[id(x)]
        self.held.append(x)
        row = row_of(x)
        if row is not None and self.session.outside.get(id(x.storage)) is not x:
            text = self.arrays.of_row(row, x.identity)
        elif cls is Box or isinstance(x, (np.ndarray, np.generic, Value)):
            text = structures.column(self, x, what) if cls is Box else None
            if text is None:
                text = f"x{len(self.store.leaves)}"
                self.store.leaves.append(x)
            if type(x) is Box:
                self.storages.add(id(x.storage))
        else:
            text = self._other(x, cls, what)
        self.known[id(x)] = text
        return text

    def _other(self, x: Any, cls: type, what: str) -> str:
        node = self.session.where_is(x)
        if node is not None:
            return self.at(node)
        if id(x) in self.given:
            return self.argument(self.given[id(x)])
        if cls is types.FunctionType and (method := vars(x).get("tj_method")) is not None:
            return self.value(method, what)
        if _is_constant(x):
            return self.const(classes.users_class(x))
        if (text := structures.array(self, x, what)) is not None:
            return text
        if cls is Listed:
            return self.pieces(x, what)
        if cls is Text or issubclass(cls, Raw):
            recipe, values = recipe_of(x)
            return self.new(f"{self.const(recipe)}(iter(({self.listed(values, what)})))")
        if cls is Variant:
            given = self.listed(numbers_of(x), what)
            once = self.arrays.once_of(x)
            return self.new(f"{self.const(of_numbers)}({self.const(x._tj_forms)}, ({given}), {once})")
        if issubclass(cls, Columns):
            made, pieces = parts(x)
            given = self.listed(pieces, what) + self.arrays.given(x)
            return self.new(f"{self.const(made)}({given})")
        if cls is types.BuiltinMethodType and type(x.__self__) in (*_DISPLAYS, *containers.CONTAINERS):
            return self.new(f"{self.value(x.__self__, what)}.{x.__name__}")
        derived = containers.is_derived(x)
        if id(x) in self.open and not derived:
            raise UnfollowedError(what=what, reason=f"a new {cls.__name__} in it holds itself")
        self.open.add(id(x))
        if cls in _DISPLAYS or cls in containers.CONTAINERS or containers.is_namedtuple(cls):
            return self._chosen(x, self._container(x, cls, what), what)
        if derived:
            return self._chosen(x, self._derived(x, what), what)
        if cls is types.SimpleNamespace:
            made = self.known[id(x)] = self.new(f"{self.const(cls)}()")
            self._attributes(made, x, what)
            return made
        if isinstance(x, _VALUES) and type(cls) is type and "__slots__" not in vars(cls):
            return self._number(x, what)
        real = classes.users_class(cls)
        if why_not(real) or is_library_class(real) or behind.stays(real):
            raise UnfollowedError(
                what=what, reason=f"it is given a {real.__name__}, which is not made anew at each call"
            )
        return self._chosen(x, self._object(x, real, what), what)

    def _chosen(self, x: Any, made: str, what: str) -> str:
        """`x`, which is `made` anew unless the program says that it is one of outside, or that it is one of those that
        are made before."""
        choices = self.session.choices
        if not choices.found:
            return made
        options, text = choices.options(x), made
        keys = [id(x), *(id(o.container) for o in options)]
        met = {id(y): (y, other) for key in keys for y, other in self.met.get(key, ())}
        for y, other in met.values():
            text = self._either(choices.same(x, y), other, text)
        for o in options:
            if self.session.where_is(o.container) is not None or id(o.container) in self.given:
                text = self._either(known(o.flag, what), self.value(o.container, what), text)
        for key in keys:
            self.met.setdefault(key, []).append((x, text))
        return text

    def _either(self, flag: Any, one: str, other: str) -> str:
        """`one` if the raw `flag` holds, else `other`."""
        if not isinstance(flag, Value):
            return one if flag else other
        asked = self.value(box(flag, weak=True), "")
        return self.new(f"{self.const(_either)}({asked}, {one}, {other})")

    def _container(self, x: Any, cls: type, what: str) -> str:
        if is_long(x) and self.elsewhere is None:
            x = [y for y in x if type(y) is not Box]
        elif is_long(x) and (found := in_pieces(x, self.elsewhere or set())) is not None:
            return self.pieces(found, what)
        if isinstance(x, dict):
            pairs = [(self.value(k, what), self.value(v, what)) for k, v in x.items()]
            if cls is dict:
                return self.new("{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}")
            factory = f"{self.value(x.default_factory, what)}, " if type(x) is collections.defaultdict else ""
            return self.new(f"{self.const(cls)}({factory}{{{', '.join(f'{k}: {v}' for k, v in pairs)}}})")
        inside = self.listed(x, what)
        if cls in _DISPLAYS and (inside or cls is not set):
            display = _DISPLAYS[cls].format(inside)
            return self.new(self.arrays.own(x, self._own(x, display)) if cls is tuple else display)
        if cls is collections.deque:
            return self.new(f"{self.const(cls)}(({inside}), {x.maxlen})")
        if issubclass(cls, tuple):
            made, real = self.const(tuple.__new__), self.const(classes.users_class(cls))
            return self.new(f"{made}({real}, ({inside}))")
        return self.new(f"{self.const(cls)}(({inside}))")

    def _own(self, x: Any, display: str) -> str:
        """A tuple's display. Of constants Python makes one for all calls: so it does of the user's own."""
        if any(y is x for code, _ in self.session.codes for y in numbered.constants_of(code)):
            return self.const(x)
        return f"{self.const(tuple)}([{display[1:-1]}])" if numbered.is_constant(display) else display

    def pieces(self, x: Listed, what: str) -> str:
        """A long list."""
        return self.new(f"{self.const(items)}({self.const(x.depths)}, ({self.listed(x.pieces, what)}))")

    def listed(self, xs: Any, what: str) -> str:
        return "".join(f"{self.value(x, what)}, " for x in xs)

    def _derived(self, x: Any, what: str) -> str:
        """A list or dict of a class of the user's: without its class's `__init__`, which has run."""
        base: Any = containers.base_of(type(x))
        made = self.new(f"{self.const(base.__new__)}({self.const(type(x))})")
        self.known[id(x)] = made  # what it holds may refer to it
        fill = list.extend if base is list else dict.update
        self.made.append(f"{self.const(fill)}({made}, {self.value(containers.entries_of(x), what)})")
        self._attributes(made, x, what)
        return made

    def _attributes(self, made: str, x: Any, what: str) -> None:
        """What the `__dict__` of `x` holds, for that of the object `made`."""
        for name, value in vars(x).items():
            self.made.append(f"{made}.__dict__[{name!r}] = {self.value(value, what)}")

    def _number(self, x: Any, what: str) -> str:
        """A number or text of a class of the user's, which is known."""
        base: Any = next(c for c in _VALUES if isinstance(x, c))
        own = str.__str__(x) if isinstance(x, str) else base.__pos__(x)
        made = self.new(f"{self.const(base.__new__)}({self.const(type(x))}, {self.literal(own)})")
        self.known[id(x)] = made
        self._attributes(made, x, what)
        return made

    def _object(self, x: Any, cls: type, what: str) -> str:
        """An object that the run has made: without its class's `__init__`, which has run."""
        try:
            object.__new__(cls)
        except TypeError as e:
            raise UnfollowedError(
                what=what, reason=f"it is given a {cls.__name__}, which only its class can make"
            ) from e
        self.names["new"], self.names["put"] = object.__new__, object.__setattr__
        made = self.new(f"new({self.const(cls)})")
        self.known[id(x)] = made  # its parts may refer to it
        for name in [*getattr(x, "__dict__", {}), *_filled_slots(x)]:
            value = self.value(object.__getattribute__(x, name), what)
            self.made.append(f"put({made}, {name!r}, {value})")
        return made

    # -- statements

    def change(self, change: Change) -> None:
        """One place of the journal."""
        node, what = change.node, change.what
        if change.before is not None:
            refill(self, self.at(node), change)
            return
        if hasattr(type(change.value), "tj_change"):
            function, given = change.value.tj_change()
            self.put.append(f"{self.const(function)}({self.at(node)}, {self.listed(given, what)})")
            return
        owner = self.at(node.parent)  # type: ignore[arg-type]
        if node.kind == ATTR and change.past:
            self.names["put"], self.names["drop"] = object.__setattr__, object.__delattr__
            rest = "" if change.value is GONE else f", {self.value(change.value, what)}"
            self.put.append(f"{'put' if rest else 'drop'}({owner}, {node.key!r}{rest})")
            return
        place = self._step(owner, node)
        self.put.append(
            f"del {place}" if change.value is GONE else f"{place} = {self.value(change.value, what)}"
        )


def _either(flag: Any, one: Any, other: Any) -> Any:
    """`one` if the flag holds; in a call that is traced itself, `other`, which holds the same."""
    return other if type(flag) is Box or not flag else one


def _filled_slots(x: Any) -> list[str]:
    both = ((n, d) for base in type(x).__mro__ for n, d in vars(base).items())
    return [n for n, d in both if type(d) is types.MemberDescriptorType and hasattr(x, n)]


def _is_constant(x: Any) -> bool:
    """Whether it is the same at every call: what belongs to a library, members of enumerations, classes."""
    if isinstance(x, (enum.Enum, np.ufunc)):
        return True
    if isinstance(x, types.BuiltinFunctionType):
        return x.__self__ is None or isinstance(x.__self__, types.ModuleType)
    if isinstance(x, type):
        real = classes.users_class(x)
        made = (getattr(f, "__globals__", None) for f in vars(real).values())
        return not any(isinstance(scope, GuardedGlobals) for scope in made)
    is_theirs = type(x) is types.FunctionType and not isinstance(x.__globals__, GuardedGlobals)
    return is_theirs and is_library_function(x)
