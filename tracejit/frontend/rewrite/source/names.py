"""Which names statements read and assign, and which are still needed after them (live)."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator
from typing import Any

Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
Names = frozenset[str]
NONE: Names = frozenset()
#: Fields of nodes with no names in them.
_NAMELESS = frozenset({"ctx", "op", "ops", "id", "attr", "kind", "type_comment"})


@functools.cache
def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    return tuple(f for f in kind._fields if f not in _NAMELESS)


@functools.cache
def _grammar(kind: type[ast.AST]) -> tuple[str, ...]:
    return (*kind._fields, *kind._attributes)


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes in a node, without operators and contexts: half the time of `ast.iter_child_nodes`, which matters
    as every statement is looked at several times."""
    found: list[ast.AST] = []
    for name in _fields(type(node)):
        value = getattr(node, name, None)
        if type(value) is list:
            found += [v for v in value if isinstance(v, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def copied(node: Any) -> Any:
    """A copy of a node and all in it, in a third of `copy.deepcopy`'s time.

    It has the fields and positions of the grammar and nothing else: CPython gives all programs the same
    `ast.Load()`, and tools that show tracebacks (IPython's) hang references to whole trees on it."""
    if type(node) is list:
        return [copied(n) for n in node]
    if not isinstance(node, ast.AST):
        return node
    own, new = vars(node), node.__new__(type(node))
    vars(new).update({name: copied(own[name]) for name in _grammar(type(node)) if name in own})
    return new


def everything(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes and all in them, functions defined there included."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        stack += children(node)


def walk(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of one function: not what is inside of functions and classes defined in it."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, Scope):
            stack.extend(_outer_parts(node))
        else:
            stack += children(node)


def _outer_parts(node: ast.AST) -> list[ast.AST]:
    """What is evaluated where a function or class is defined."""
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords]
    a = node.args  # type: ignore[attr-defined]
    return [*getattr(node, "decorator_list", []), *a.defaults, *(d for d in a.kw_defaults if d is not None)]


def assigned(nodes: Iterable[ast.AST]) -> set[str]:
    """The names of the function that `nodes` assign or delete."""
    names: set[str] = set()
    hidden = set()
    for node in walk(nodes):
        if isinstance(node, _COMPREHENSIONS):  # their targets are their own
            hidden |= {id(n) for g in node.generators for n in ast.walk(g.target)}
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and id(node) not in hidden:
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.add(node.rest)
    return names


def bound_names(node: ast.AST) -> set[str]:
    """The names that are bound anywhere in a function: in functions and comprehensions in it too."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    return names | {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}


def rebound(body: list[Any]) -> set[str]:
    """Names assigned otherwise than by `+=` and the like."""
    augmented = [n.target for n in walk(body) if isinstance(n, ast.AugAssign)]
    names = {n.id for n in augmented if isinstance(n, ast.Name)}
    targets = {id(n) for n in augmented}
    others = {
        n.id
        for n in walk(body)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and id(n) not in targets
    }
    return others | (assigned(body) - names)


def declared(nodes: Iterable[ast.AST], kind: type[ast.Global] | type[ast.Nonlocal]) -> set[str]:
    """The names of `global` or `nonlocal` statements."""
    return {name for node in walk(nodes) if isinstance(node, kind) for name in node.names}


def read(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that `nodes` read, or delete, which asks whether they are bound; those in functions defined there
    included."""
    return {n.id for n in everything(nodes) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)}


def _closures(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for node in walk(nodes):
        if isinstance(node, Scope):
            yield from node.body if isinstance(node.body, list) else [node.body]


def kept(nodes: list[ast.stmt]) -> set[str]:
    """Names that functions defined in `nodes` read or assign: needed as long as these live."""
    inner = list(_closures(nodes))
    shared = {x for d in everything(inner) if isinstance(d, ast.Nonlocal) for x in d.names}
    return read(inner) | shared


def shared(nodes: list[ast.stmt]) -> set[str]:
    """Names that functions defined in `nodes` assign by `nonlocal`."""
    return {x for d in everything(_closures(nodes)) if isinstance(d, ast.Nonlocal) for x in d.names}


class Liveness:
    """Names needed after each loop and branch, and at the head of each loop.

    `after[id(node)]`, `head[id(node)]`: for `If`, `For` and `While` nodes. `through[id(node)]`: names whose
    value a step of the loop may read or leave as it is. `elsewhere`: names of an outer function, which are needed
    always.

    An exception may leave a `try` or a `with` block anywhere: what is needed after such a block, or is read in it, is
    needed after all statements in it.
    """

    _caught: Names = NONE

    def __init__(
        self, body: list[ast.stmt], stops: dict[int, tuple[str, ...]], elsewhere: Iterable[str] = ()
    ) -> None:
        self.after: dict[int, Names] = {}
        self.head: dict[int, Names] = {}
        self.through: dict[int, Names] = {}
        self.stops = stops
        self.always = frozenset(kept(body)).union(elsewhere)
        self.block(body, self.always)

    def block(self, stmts: list[ast.stmt], out: Names) -> Names:
        """The names needed before `stmts` if `out` are needed after them."""
        for s in reversed(stmts):
            out = self.statement(s, out)
        return out

    def statement(self, s: ast.stmt, out: Names) -> Names:
        """The names needed before a statement, if `out` are needed after it."""
        if not isinstance(s, _LEFT_ANYWHERE):
            return self._statement(s, out | self._caught) | self._caught
        before, self._caught = self._caught, self._caught | out | read([s])
        try:
            return self._statement(s, out | self._caught) | self._caught
        finally:
            self._caught = before

    def _statement(self, s: ast.stmt, out: Names) -> Names:
        if isinstance(s, ast.If):
            self._note(self.after, s, out)
            return self.block(s.body, out) | self.block(s.orelse, out) | read([s.test])
        if isinstance(s, (ast.For, ast.AsyncFor, ast.While)):
            return self._loop(s, out)
        if isinstance(s, (ast.Try, *_TRY_STAR)):
            everything = out | read([s])
            for part in (s.body, s.orelse, s.finalbody, *(h.body for h in s.handlers)):
                self.block(part, everything)
            return frozenset(everything)
        if isinstance(s, (ast.With, ast.AsyncWith)):
            items = [x for i in s.items for x in (i.context_expr, i.optional_vars) if x is not None]
            inner = self.block(s.body, out)
            return (inner - assigned(items)) | read(items)
        if isinstance(s, ast.Match):
            cases = [self.block(c.body, out) for c in s.cases]
            return frozenset().union(out, *cases, read([s.subject, *s.cases]))
        if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name):
            return out | read([s.value]) | {s.target.id}
        if isinstance(s, (ast.Return, ast.Raise)):
            return frozenset(self.always | read([s]))
        if isinstance(s, (ast.Break, ast.Continue)):  # of a loop that stays Python's
            return out | self._around
        return (out - assigned([s])) | read([s])

    _around: Names = NONE

    def _loop(self, s: ast.For | ast.AsyncFor | ast.While, out: Names) -> Names:
        self._note(self.after, s, out)
        stops = self.stops.get(id(s), ())
        first = read([s.test]) if isinstance(s, ast.While) else set()
        targets = set() if isinstance(s, ast.While) else assigned([s.target])
        before, others = self._around, self.block(s.orelse, out)
        head: Names = out | others | first | set(stops)
        while True:
            self._around = head
            into = self.block(s.body, head) - targets
            if not isinstance(s, ast.While):
                into |= read([s.target])
            if into <= head:
                break
            head |= into
        self._around = before
        self._note(self.head, s, head)
        self._note(self.through, s, into)
        return head if isinstance(s, ast.While) else head | read([s.iter])

    def _note(self, where: dict[int, Names], node: ast.AST, names: Names) -> None:
        where[id(node)] = where.get(id(node), NONE) | names


_TRY_STAR = (ast.TryStar,)
_LEFT_ANYWHERE = (ast.Try, *_TRY_STAR, ast.With, ast.AsyncWith)
