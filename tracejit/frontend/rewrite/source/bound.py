"""Names that may not be bound where they are read, after an `if` of which one branch binds them, or after a loop.

    if c:                   _tj_bound_y = False
        y = 1               if c:
    return y                    y = 1
                                _tj_bound_y = True
                            return hooks.bound(_tj_bound_y, 'y', lambda: y)

Where `c` is traced, both branches are part of the program and `y` has a value in either: the flag, which is
traced too, raises what Python raises. So it is for a native loop that may have no step. Only names get a flag that are
read where it is not sure that they are bound. Names that a function defined here reads have none, nor those that
something else than an assignment, `for` or `with` binds: where such a name stays unbound, Python runs the function
(`Spec.unsure`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

from tracejit import ops
from tracejit.frontend.rewrite.hooks.conditions import raised
from tracejit.frontend.rewrite.hooks.messages import fail_if
from tracejit.frontend.rewrite.hooks.predicates import raw_truth, truth
from tracejit.frontend.rewrite.source.escapes import at
from tracejit.frontend.rewrite.source.names import Scope, assigned, kept, walk

State = frozenset[str] | None  # names that are bound; None: it is never reached
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def bound(flag: Any, name: str, value: Callable[[], Any]) -> Any:
    """The value of a name. Raises UnboundLocalError if the flag is not set, in compiled code if it is traced."""
    known = truth(flag)
    if known:
        return value()
    error = UnboundLocalError(
        f"cannot access local variable '{name}' where it is not associated with a value"
    )
    if known is not None:
        raise raised(error)
    fail_if(ops.compare.not_(raw_truth(flag)), error)
    return value()


class _Analysis:
    """Which reads of local names are not sure to find them bound."""

    def __init__(self, names: set[str]) -> None:
        self.names = names
        self.unsure: dict[int, str] = {}  # id of the node -> name
        self.loops: list[tuple[list[State], list[State]]] = []  # states at `break`s and at `continue`s

    def block(self, stmts: Iterable[ast.stmt], state: State) -> State:
        for s in stmts:
            if state is None:
                return None
            state = self.statement(s, state)
        return state

    def statement(self, s: ast.stmt, state: frozenset[str]) -> State:
        if isinstance(s, ast.If):
            self.reads([s.test], state)
            state |= assigned([s.test])
            return _both(self.block(s.body, state), self.block(s.orelse, state))
        if isinstance(s, (ast.For, ast.AsyncFor, ast.While)):
            return self.loop(s, state)
        if isinstance(s, (ast.Try, ast.TryStar)):
            ends = [self.block(h.body, state | {h.name or ""}) for h in s.handlers]
            end = self.block([*s.body, *s.orelse], state)
            for e in ends:
                end = _both(end, e)
            last = self.block(s.finalbody, state)
            return None if end is None or last is None else end | last
        if isinstance(s, (ast.With, ast.AsyncWith)):
            for item in s.items:
                self.reads([item], state)
                state |= assigned([item])
            return self.block(s.body, state)
        if isinstance(s, ast.Match):
            self.reads([s.subject], state)
            end: State = state
            for c in s.cases:
                end = _both(end, self.block(c.body, state | assigned([c.pattern])))
            return end
        self.reads([s], state)
        if isinstance(s, (ast.Return, ast.Raise)):
            return None
        if isinstance(s, (ast.Break, ast.Continue)) and self.loops:
            self.loops[-1][isinstance(s, ast.Continue)].append(state)
            return None
        return state - assigned([s]) if isinstance(s, ast.Delete) else state | assigned([s])

    def loop(self, s: ast.For | ast.AsyncFor | ast.While, state: frozenset[str]) -> State:
        head = s.test if isinstance(s, ast.While) else s.iter
        self.reads([head], state)
        before = state = state | assigned([head])
        if not isinstance(s, ast.While):
            state |= assigned([s.target])
        self.loops.append(([], []))
        end = self.block(s.body, state)
        breaks, continues = self.loops.pop()
        for c in [*continues, before]:
            end = _both(end, c)
        if isinstance(head, ast.Constant) and isinstance(s, ast.While):
            end = None
        end = None if end is None else self.block(s.orelse, end)
        for b in breaks:
            end = _both(end, b)
        return end

    def reads(self, nodes: Iterable[ast.AST], state: frozenset[str]) -> None:
        """What is read in `nodes`; what a function reads that is defined there counts as read where it is defined."""
        hidden: set[int] = set()
        for n in walk(nodes):
            if isinstance(n, _COMPREHENSIONS):
                own = {x.id for g in n.generators for x in ast.walk(g.target) if isinstance(x, ast.Name)}
                hidden |= {id(x) for x in ast.walk(n) if isinstance(x, ast.Name) and x.id in own}
            elif isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name):
                self._read(n, n.target.id, state)
            elif isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store) and id(n) not in hidden:
                self._read(n, n.id, state)
            elif isinstance(n, Scope):
                for name in kept([n]):  # type: ignore[list-item]
                    self._read(n, name, state)

    def _read(self, node: ast.AST, name: str, state: frozenset[str]) -> None:
        if name in self.names and name not in state:
            self.unsure[id(node)] = name


def _both(a: State, b: State) -> State:
    return b if a is None else a if b is None else a & b


class _Flagged(ast.NodeTransformer):
    """Sets the flags, and asks them where names are read."""

    def __init__(self, names: set[str], unsure: dict[int, str], hook: Callable[..., ast.Call]) -> None:
        self.names = names
        self.unsure = unsure
        self.hook = hook

    def visit_Name(self, e: ast.Name) -> Any:
        name = self.unsure.get(id(e))
        return e if name not in self.names else at(self._asked(e, name), e)

    def _asked(self, e: ast.expr, name: str) -> ast.Call:
        value = ast.Lambda(ast.arguments([], [], None, [], [], None, []), e)
        return self.hook("bound", ast.Name(_flag(name), ast.Load()), ast.Constant(name), value)

    def visit_Assign(self, s: Any) -> Any:
        self.generic_visit(s)
        return [s, *self._set([s], s)]

    visit_AnnAssign: Any = visit_Assign

    def visit_AugAssign(self, s: ast.AugAssign) -> Any:
        name = self.unsure.get(id(s))
        self.generic_visit(s)
        ask = []
        if name in self.names:
            ask = [at(ast.Expr(self._asked(ast.Name(name, ast.Load()), name)), s)]
        return [*ask, s, *self._set([s], s)]

    def visit_For(self, s: ast.For) -> Any:
        self.generic_visit(s)
        s.body = [*self._set([s.target], s), *s.body]
        return s

    def visit_With(self, s: ast.With) -> Any:
        self.generic_visit(s)
        s.body = [*self._set(s.items, s), *s.body]
        return s

    def visit_FunctionDef(self, s: Any) -> Any:
        return s  # no name that an inner function reads has a flag

    visit_AsyncFunctionDef: Any = visit_FunctionDef
    visit_ClassDef: Any = visit_FunctionDef
    visit_Lambda: Any = visit_FunctionDef

    def _set(self, nodes: list[Any], s: ast.stmt) -> list[Any]:
        return [at(_assignment(n, True), s) for n in sorted(assigned(nodes) & self.names)]


def _flag(name: str) -> str:
    return f"_tj_bound_{name}"


def _assignment(name: str, value: bool) -> ast.Assign:
    return ast.Assign([ast.Name(_flag(name), ast.Store())], ast.Constant(value))


def flagged(
    body: list[Any], names: set[str], hook: Callable[..., ast.Call]
) -> tuple[list[Any], frozenset[str]]:
    """(The body of a function with flags for those of its local `names` that may be read unbound, those of these
    that can't have a flag)."""
    analysis = _Analysis(names)
    analysis.block(body, frozenset())
    unsure = frozenset(analysis.unsure.values())
    without = unsure & (kept(body) | _otherwise_bound(body)) if unsure else unsure
    found = set(unsure - without)
    if not found:
        return body, without
    transformer = _Flagged(found, analysis.unsure, hook)
    out: list[Any] = [at(_assignment(n, False), body[0]) for n in sorted(found)]
    for s in body:
        new = transformer.visit(s)
        out += new if isinstance(new, list) else [new]
    return out, without


def _otherwise_bound(body: list[Any]) -> set[str]:
    """Names that something else than an assignment, `for` or `with` binds, or that comprehensions have too."""
    simple: set[int] = set()
    found: set[str] = set()
    for n in walk(body):
        if isinstance(n, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = n.targets if isinstance(n, ast.Assign) else [n.target]
            bare = isinstance(n, ast.AnnAssign) and n.value is None
            simple |= {id(x) for t in targets for x in ast.walk(t) if not bare}
        elif isinstance(n, ast.For):
            simple |= {id(x) for x in ast.walk(n.target)}
        elif isinstance(n, ast.With):
            simple |= {id(x) for i in n.items if i.optional_vars for x in ast.walk(i.optional_vars)}
        elif isinstance(n, _COMPREHENSIONS):
            found |= {x.id for g in n.generators for x in ast.walk(g.target) if isinstance(x, ast.Name)}
    for n in walk(body):
        if isinstance(n, ast.Name):
            if not isinstance(n.ctx, ast.Load) and id(n) not in simple:
                found.add(n.id)
        elif not isinstance(n, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.With)) and isinstance(
            n, (ast.stmt, ast.ExceptHandler, ast.pattern, ast.alias)
        ):
            found |= _own_names(n)
    return found


def _own_names(n: Any) -> set[str]:
    """Names that the node itself binds: `def f`, `import a`, `except E as e`, `case n`."""
    name = getattr(n, "name", None)
    if isinstance(n, ast.alias):
        return {(n.asname or n.name).partition(".")[0]}
    return {name} if isinstance(name, str) else set()
