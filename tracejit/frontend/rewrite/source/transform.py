"""A function's syntax tree with loops, branches and conditions as calls of hooks.

    for i in range(n):          def _tj_body_1(_tj_item):
        s += x[i]                   nonlocal i, s
                                    i = _tj_item
                                    s += x[i]
                                hooks.loop(range(n), _tj_body_1, ('for', 1, ...))

Every line keeps its number. The hooks (`hooks`) find the names in the cells of the closures.
"""

from __future__ import annotations

import ast
from typing import Any

from tracejit.frontend.rewrite.source.appends import appended
from tracejit.frontend.rewrite.source.bound import flagged
from tracejit.frontend.rewrite.source.calls import BUILTINS, may_convert, written
from tracejit.frontend.rewrite.source.code import Function, argument_names
from tracejit.frontend.rewrite.source.escapes import Lowering, Plan, at, is_static
from tracejit.frontend.rewrite.source.keys import Keys
from tracejit.frontend.rewrite.source.matches import Matches, has_matches
from tracejit.frontend.rewrite.source.names import (
    Liveness,
    assigned,
    bound_names,
    copied,
    declared,
    rebound,
    shared,
    walk,
)
from tracejit.frontend.rewrite.source.targets import is_plain, sees_later, taking
from tracejit.frontend.rewrite.source.tests import marked, name_of, note_none
from tracejit.frontend.rewrite.source.texts import hook

_SEES_LOCALS = frozenset({"locals", "vars", "eval", "exec", "dir"})
_INLINE = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
_ORDER: dict[type, str] = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq"}
_ORDER |= {ast.NotEq: "ne", ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"}


class Unchanged(Exception):
    """Nothing in the function is rewritten."""


def rewritten(node: Function, owner: str = "") -> Function:
    """A rewritten copy of a function's definition, without decorators and defaults. `owner`: the class around it.

    Raises Unchanged.
    """
    node = copied(node)
    if any(isinstance(n, ast.Name) and n.id in _SEES_LOCALS for n in walk(_body(node))):
        raise Unchanged
    undecorated(node)
    function = _Function(node, set(), bound_names(node), owner)
    function.rewrite()
    if not function.changes:
        raise Unchanged
    return node


def _body(node: Function) -> list[Any]:
    return node.body if isinstance(node.body, list) else [node.body]


def undecorated(node: Function) -> Function:
    """Leave out decorators, defaults and annotations, which are evaluated where a function is defined."""
    required: list[ast.expr | None] = [None] * len(node.args.kwonlyargs)
    node.args.defaults, node.args.kw_defaults = [], required
    for a in ast.walk(node.args):
        if isinstance(a, ast.arg):
            a.annotation = None
    if not isinstance(node, ast.Lambda):
        node.decorator_list, node.returns = [], None
    return node


class _Function(Keys):
    """Rewrites one function; functions defined in it get a `_Function` of their own."""

    def __init__(self, node: Function, outer: set[str], local: set[str], owner: str) -> None:
        self.node = node
        self.local, self.owner = local, owner
        self.changes = 0
        if not isinstance(node, ast.Lambda) and has_matches(node.body):
            matches = Matches(hook)
            node.body = [x for s in node.body for x in _listed(matches.visit(s))]
            self.changes = matches.hooked
        body = _body(node)
        self.globals = declared(body, ast.Global)
        self.nonlocals = declared(body, ast.Nonlocal)
        self.arguments = argument_names(node)
        self.locals = (assigned(body) | set(self.arguments)) - self.globals - self.nonlocals
        self.hidden = self.locals | self.nonlocals | outer  # names that are no builtins here
        self.shared = shared(body) & self.locals if isinstance(node.body, list) else set()
        self.unsure: frozenset[str] = frozenset()
        self.plain = self.locals - self.shared
        self.bound: set[str] = set()  # locals that inner functions assign
        self.count = 0
        self.where: Liveness
        self.plan: Plan

    def rewrite(self) -> None:
        note_none(self.node)
        if isinstance(self.node, ast.Lambda):
            self.node.body = self.visit(marked(self.node.body))
            return
        own = self.locals - set(self.arguments) - self.shared
        self.node.body, self.unsure = flagged(self.node.body, own, hook)
        self.locals |= assigned(self.node.body) - self.globals - self.nonlocals
        self.plan = Plan(self.node)
        lowering = Lowering(self.plan)
        body = lowering.function(self.node.body)
        self.locals |= assigned(body) - self.globals - self.nonlocals
        self.stops = lowering.stops
        self.where = Liveness(body, self.stops, self.nonlocals)
        self.node.body = self.block(marked(body))
        if self.bound:  # `nonlocal` of inner functions needs a binding out here
            names: list[Any] = [ast.Name(n, ast.Store()) for n in sorted(self.bound)]
            never: Any = ast.If(_constant(False), [ast.Assign(names, _constant(None))], [])
            self.node.body.insert(0, at(never, self.node.body[0]))

    def block(self, stmts: list[Any]) -> list[Any]:
        out: list[Any] = []
        rest = stmts[::-1]
        while rest:
            new = self.masked(rest) or self.visit(rest.pop())
            out += new if isinstance(new, list) else [new]
        return out

    # -- statements

    def visit_For(self, s: ast.For) -> Any:
        if not self.plan.becomes_function(s):
            return self.generic_visit(s)
        head = self.where.head[id(s)]
        names = assigned([*s.body, s.target])
        take = at(ast.Assign([s.target], ast.Name("_tj_item", ast.Load())), s)
        spec = self._spec("for", s, names, head, [take, *s.body], self.where.through[id(s)])
        spec += (appended(s.body),)
        body = self._nested("body", [take, *self.block(s.body)], names, s, item=True)
        iterable = self.visit(s.iter)
        if isinstance(iterable, ast.Call):  # what it gives is nobody else's
            iterable.func = at(hook("iterated", iterable.func), iterable.func)
        return self._call("loop", s, [iterable, body], spec)

    def visit_While(self, s: ast.While) -> Any:
        if not self.plan.becomes_function(s):
            return self.generic_visit(s)
        head = self.where.head[id(s)]
        names = assigned([*s.body, s.test])
        spec = self._spec("while", s, names, head, s.body, self.where.through[id(s)])
        result = at(ast.Return(self.visit(s.test)), s.test)
        test = self._nested("test", [result], names, s)
        body = self._nested("body", self.block(s.body), names, s)
        return self._call("while_", s, [test, body], spec)

    def visit_If(self, s: ast.If) -> Any:
        if not self.plan.becomes_function(s):
            return self.generic_visit(s)
        names = assigned([*s.body, *s.orelse])
        spec = self._spec("if", s, names, self.where.after[id(s)], [*s.body, *s.orelse])
        then = self._nested("then", self.block(s.body), names, s)
        other = self._nested("else", self.block(s.orelse), names, s)
        return self._call("if_", s, [self.visit(s.test), then, other], spec)

    def visit_Assert(self, s: ast.Assert) -> Any:
        """`assert t, m` is `if not t: raise AssertionError(m)`."""
        if is_static(s.test):
            return self.generic_visit(s)
        self.changes += 1
        message = [] if s.msg is None else [self.visit(s.msg)]
        test = self.visit(s.test)
        call = hook("assert_", test, _thunk(ast.Tuple(message, ast.Load())))
        return at(ast.Expr(call), s)

    def visit_Raise(self, raising: ast.Raise) -> Any:
        s: Any = self.generic_visit(raising)
        if isinstance(s.exc, ast.Call):
            s.exc.func = at(hook("callee", s.exc.func), s.exc.func)
        if s.exc is not None:
            s.exc = at(hook("thrown" if id(s) in self._caught() else "raised", s.exc), s)
        return s

    def visit_Try(self, tried: ast.Try) -> Any:
        s: Any = self.generic_visit(tried)
        if s.handlers:
            self.changes += 1
            kinds: list[Any] = [h.type or ast.Name("BaseException", ast.Load()) for h in s.handlers]
            kinds = [copied(k) for k in kinds]
            named = tuple(h.name is not None for h in s.handlers)
            guard = hook("tried", _thunk(ast.Tuple(kinds, ast.Load())), _constant(named))
            s.body = [at(ast.With([ast.withitem(guard)], s.body), s)]
        return s

    def visit_With(self, s: ast.With) -> Any:
        self.generic_visit(s)
        self.changes += 1
        for item in s.items:
            line = _thunk(_constant(None))
            item.context_expr = at(hook("managed", item.context_expr, line), item.context_expr)
        return s

    def _caught(self) -> set[int]:
        """`raise` statements whose exception the function itself may catch."""
        tries = [n for n in ast.walk(self.node) if isinstance(n, (ast.Try, ast.TryStar)) and n.handlers]
        return {id(n) for t in tries for b in t.body for n in ast.walk(b) if isinstance(n, ast.Raise)}

    def visit_AnnAssign(self, s: ast.AnnAssign) -> Any:
        """Names of inner functions may not be annotated."""
        if not isinstance(s.target, ast.Name):
            return self.generic_visit(s)
        if s.value is None:
            return at(ast.Pass(), s)
        return at(ast.Assign([s.target], self.visit(s.value)), s)

    # -- functions and classes defined in it

    def _inner(self, s: Function) -> Any:
        s.args.defaults = [self.visit(d) for d in s.args.defaults]
        s.args.kw_defaults = [d if d is None else self.visit(d) for d in s.args.kw_defaults]
        if any(isinstance(n, ast.Name) and n.id in _SEES_LOCALS for n in walk(_body(s))):
            return s
        function = _Function(s, self.hidden, self.local, self.owner)
        function.rewrite()
        self.changes += function.changes
        return s

    visit_FunctionDef: Any = _inner
    visit_AsyncFunctionDef: Any = _inner
    visit_Lambda: Any = _inner

    def visit_ClassDef(self, s: ast.ClassDef) -> Any:
        around, self.owner = self.owner, s.name
        for n in walk(s.body):
            if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                self._inner(n)
        self.owner = around
        return s

    # -- expressions

    def visit_IfExp(self, e: ast.IfExp) -> Any:
        if is_static(e.test) or _must_stay(e.body, e.orelse):
            return self.generic_visit(e)
        self.changes += 1
        return at(hook("ifexp", self.visit(e.test), self._later(e.body), self._later(e.orelse)), e)

    def visit_BoolOp(self, e: ast.BoolOp) -> Any:
        if is_static(e) or _must_stay(*e.values[1:]):
            return self.generic_visit(e)
        self.changes += 1
        first = self.visit(e.values[0])
        return at(hook(name_of(e), first, *(self._later(v) for v in e.values[1:])), e)

    def visit_UnaryOp(self, e: ast.UnaryOp) -> Any:
        if not isinstance(e.op, ast.Not) or is_static(e):
            return self.generic_visit(e)
        self.changes += 1
        return at(hook("not_", self.visit(e.operand)), e)

    def visit_Compare(self, e: ast.Compare) -> Any:
        """`a in b`, `a is b`; `a < b < c`: each operand is computed once, the later ones only if they are needed."""
        if len(e.ops) == 1 and isinstance(e.ops[0], (ast.In, ast.NotIn)) and not is_static(e):
            self.changes += 1
            negated = at(_constant(isinstance(e.ops[0], ast.NotIn)), e)
            return at(hook("in_", self.visit(e.left), self.visit(e.comparators[0]), negated), e)
        if len(e.ops) == 1 and isinstance(e.ops[0], (ast.Is, ast.IsNot)):
            self.changes += 1
            negated = at(_constant(isinstance(e.ops[0], ast.IsNot)), e)
            return at(hook("is_", self.visit(e.left), self.visit(e.comparators[0]), negated), e)
        if len(e.ops) == 1 or _must_stay(*e.comparators[1:]):
            return self.generic_visit(e)
        names = [_ORDER[type(op)] for op in e.ops]
        self.changes += 1
        ops = at(_constant(tuple(names)), e)
        rest = [self._later(c) for c in e.comparators[1:]]
        return at(hook("chain", ops, self.visit(e.left), self.visit(e.comparators[0]), *rest), e)

    def visit_ListComp(self, comp: ast.ListComp) -> Any:
        """`[element for target in iterable if condition]` of one loop, with one condition or none. What is called
        later sees the last items of the targets, which functions of one item each would not have."""
        g = comp.generators[0]
        sees_target = sees_later(comp)
        e: Any = self.generic_visit(comp)
        if sees_target or len(e.generators) > 1 or len(g.ifs) > 1 or g.is_async or not is_plain(g.target):
            return e
        if any(map(_must_stay, (e.elt, *g.ifs))):
            return e
        self.changes += 1
        line = at(_constant(e.lineno), e)
        tests = [at(taking(g.target, test), e) for test in g.ifs]
        return at(hook("comprehension", g.iter, at(taking(g.target, e.elt), e), line, *tests), e)

    def visit_Call(self, call: ast.Call) -> Any:
        before = call.func
        if (folded := self._fold(call)) is not None:
            return folded
        e: Any = self.generic_visit(call)
        if e.func is not before or (isinstance(e.func, ast.Name) and e.func.id in self.local):
            self.changes += 1
            e.func = at(hook("callee", e.func), e.func)
            return e
        if may_convert(e):
            self.changes += 1
            e.func = at(hook("callee", e.func), e.func)
            return e
        if not isinstance(e.func, ast.Name) or e.func.id in self.hidden:
            return e
        if e.func.id in BUILTINS:
            self.changes += 1
            e.func = at(hook("builtin", e.func), e.func)
        elif e.func.id == "super" and not e.args and self.arguments:
            e.args = [at(ast.Name(n, ast.Load()), e) for n in ("__class__", self.arguments[0])]
        return e

    def _fold(self, call: ast.Call) -> Any:
        """`any(element for target in iterable if condition)`, and `all`, of one loop and at most one condition."""
        f, args = call.func, call.args
        if not isinstance(f, ast.Name) or f.id not in ("any", "all") or f.id in self.hidden or call.keywords:
            return None
        if len(args) != 1 or not isinstance(args[0], ast.GeneratorExp) or len(args[0].generators) > 1:
            return None
        g = args[0].generators[0]
        if (
            len(g.ifs) > 1
            or g.is_async
            or not is_plain(g.target)
            or any(map(_must_stay, (args[0].elt, *g.ifs)))
        ):
            return None
        self.changes += 1
        made: Any = self.generic_visit(args[0])
        functions = [at(taking(g.target, x), call) for x in (made.elt, *g.ifs)]
        return at(hook("over", f, g.iter, *functions), call)

    def _later(self, e: ast.expr) -> ast.expr:
        return at(_thunk(self.visit(e)), e)

    # -- pieces

    def _nested(self, kind: str, body: list[Any], names: set[str], s: ast.stmt, item: bool = False) -> Any:
        """The definition of a function that is a block of this one, or None for an empty block."""
        if not body:
            return None
        self.count += 1
        name = f"_tj_{kind}_{self.count}"
        mine, outer = sorted(names - self.globals | self.shared), sorted(names & self.globals)
        self.bound |= set(mine) & self.locals
        head: list[Any] = [ast.Nonlocal(mine)] if mine else []
        head += [ast.Global(outer)] if outer else []
        for n in sorted(self.shared):  # functions that the block calls may assign it: the hooks need its cell
            head.append(ast.If(_constant(False), [ast.Expr(ast.Name(n, ast.Load()))], []))
        args = [ast.arg("_tj_item")] if item else []
        arguments = ast.arguments([], args, None, [], [], None, [])
        new: Any = ast.FunctionDef(name, arguments, [*head, *body], [], None)
        new.type_params = []
        return at(new, s)

    def _call(self, name: str, s: ast.stmt, parts: list[Any], spec: tuple[Any, ...]) -> list[Any]:
        """The definitions among `parts`, and the statement that calls the hook with them."""
        self.changes += 1
        before = [p for p in parts if isinstance(p, ast.FunctionDef)]
        args = [ast.Name(p.name, ast.Load()) if isinstance(p, ast.FunctionDef) else p for p in parts]
        args = [_constant(None) if a is None else a for a in args]
        return [*before, at(ast.Expr(hook(name, *args, _constant(spec))), s)]

    def _spec(
        self, kind: str, s: Any, names: set[str], live: Any, body: list[Any], through: Any = frozenset()
    ) -> tuple[Any, ...]:
        """(kind, line, names kept, names bound anew, names of arrays that may be written, flags that stop
        the loop, names of globals assigned, names that a step may leave as they are, names that may be read
        unbound and have no flag)."""
        keep = (names - self.globals) & live | self.shared
        anew = (rebound(body) | self.shared) & keep
        stops = self.stops.get(id(s), ())
        order = (keep, anew, written(body) - self.globals, stops, names & self.globals, keep & through)
        order = (*order, keep & self.unsure)
        return (kind, s.lineno, *(tuple(sorted(x)) for x in order))


def _listed(x: Any) -> list[Any]:
    return x if isinstance(x, list) else [x]


def _thunk(body: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), body)


def _constant(value: Any) -> ast.Constant:
    return ast.Constant(value)


def _must_stay(*operands: ast.expr) -> bool:
    """Whether an operand can't move into a function of its own."""
    return any(isinstance(n, _INLINE) for n in walk(operands))
