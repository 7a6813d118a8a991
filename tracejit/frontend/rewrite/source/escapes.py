"""`break`, `continue` and `return` without jumps, for bodies that become functions.

What would be jumped over goes into the other branch (`if c: continue` followed by `rest` is
`if c: pass else: rest`); where no branch always jumps, a flag guards the rest. Loops stop when one of
their flags is set; a function returns `_tj_value` at its end.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from tracejit.frontend.rewrite.source.names import walk
from tracejit.frontend.rewrite.source.tests import may_be_none

VALUE = "_tj_value"
RETURNED = "_tj_returned"
Escape = ast.Break | ast.Continue | ast.Return
Loop = ast.For | ast.While
_ELSEWHERE = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)
_COMPOUND = (
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.With,
    ast.AsyncWith,
    ast.Try,
    ast.TryStar,
    ast.Match,
)


def blocks(s: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks of statements inside of a compound statement."""
    if isinstance(s, ast.Match):
        return [c.body for c in s.cases]
    found = [getattr(s, name, []) for name in ("body", "orelse", "finalbody")]
    return [*found, *(h.body for h in getattr(s, "handlers", []))]


def is_compound(s: ast.AST) -> bool:
    return isinstance(s, _COMPOUND)


class Plan:
    """What of a function is rewritten: `plain` statements stay Python's, with the reason."""

    def __init__(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.plain: dict[int, str] = {}
        self.paths: list[tuple[Escape, list[ast.stmt]]] = []
        self.generator = isinstance(node, ast.AsyncFunctionDef) or any(
            isinstance(n, _ELSEWHERE) for n in walk(node.body)
        )
        self._visit(node.body, [], 0)
        while self._spread():
            pass
        returns = [path for e, path in self.paths if isinstance(e, ast.Return)]
        self.returns = any(self.becomes_function(s) for path in returns for s in path)

    def _visit(self, stmts: list[ast.stmt], around: list[ast.stmt], loop: int) -> None:
        """`loop`: the place in `around` of the loop that `break` and `continue` are of."""
        for s in stmts:
            if isinstance(s, Escape):  # a jump leaves all inside of the loop and the loop; `continue` too
                self.paths.append((s, around if isinstance(s, ast.Return) else around[loop:]))
            if not is_compound(s):
                continue
            if any(isinstance(n, _ELSEWHERE) for n in walk([s])):
                self.plain[id(s)] = "there is a `yield` or `await` in it"
            elif isinstance(s, ast.If) and is_static(s.test):
                self.plain[id(s)] = ""
            for block in blocks(s):
                of_loop = isinstance(s, (ast.For, ast.AsyncFor, ast.While)) and block is s.body
                self._visit(block, [*around, s], len(around) if of_loop else loop)

    def _spread(self) -> bool:
        """A jump out of a statement that stays Python's keeps everything that it jumps out of so."""
        before = len(self.plain)
        returns = [p for e, p in self.paths if isinstance(e, ast.Return)]
        bad = any(_fixed(p) or any(self._stays(s) for s in p) for p in returns) or self.generator
        for e, path in self.paths:
            fixed = _fixed(path) or any(self._stays(s) for s in path)
            if fixed or (bad and isinstance(e, ast.Return)):
                for s in path:
                    if isinstance(s, (Loop, ast.If)):
                        self.plain.setdefault(
                            id(s), "a jump leaves a statement in it that cannot be rewritten"
                        )
        return len(self.plain) > before

    def _stays(self, s: ast.stmt) -> bool:
        return bool(self.plain.get(id(s)))

    def becomes_function(self, s: ast.AST) -> bool:
        """Whether the body of `s` becomes a function."""
        return isinstance(s, (ast.If, ast.For, ast.While)) and id(s) not in self.plain

    def lowered(self, e: ast.stmt) -> bool:
        """Whether a jump is done by flags."""
        if isinstance(e, ast.Return):
            return self.returns
        path = next(p for x, p in self.paths if x is e)
        return any(self.becomes_function(s) for s in path)


def _fixed(path: list[ast.stmt]) -> bool:
    """Whether a jump through `path` can't be done by flags: `else` and `finally` of `try` look at jumps."""
    return any(isinstance(s, (ast.Try, ast.TryStar)) and (s.orelse or _jumps(s.finalbody)) for s in path)


def _jumps(stmts: list[ast.stmt]) -> bool:
    return any(isinstance(n, Escape) for n in walk(stmts))


_CHECKS = frozenset({"isinstance", "issubclass", "callable", "hasattr"})


def is_static(test: ast.expr) -> bool:
    """Whether a condition never depends on the value of an array."""
    if isinstance(test, ast.BoolOp):
        return all(map(is_static, test.values))
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return is_static(test.operand)
    if isinstance(test, ast.Compare):
        if all(isinstance(op, (ast.Is, ast.IsNot)) for op in test.ops):
            sides = (test.left, *test.comparators)
            fixed = any(isinstance(x, ast.Constant) and not isinstance(x.value, bool) for x in sides)
            return len(test.ops) == 1 and fixed and not may_be_none(test)
        return any(
            isinstance(x, ast.Constant) and isinstance(x.value, str) for x in (test.left, *test.comparators)
        )
    if isinstance(test, ast.Call):
        return isinstance(test.func, ast.Name) and test.func.id in _CHECKS
    return isinstance(test, ast.Constant)


class Lowering:
    """Rewrites the jumps of one function. `stops[id(loop)]`: the flags that end it."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.stops: dict[int, tuple[str, ...]] = {}
        self.count = 0

    def function(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The function's body; ends with `return` where returns are rewritten."""
        if not self.plan.returns:
            return self.block(body, None)[0]
        last = body[-1]
        end = at(ast.Return(at(ast.Constant(None), last)), last)
        start = at(_assign(RETURNED, ast.Constant(False)), body[0])
        stmts, _ = self.block([*body, end], None)
        return [start, *stmts, at(ast.Return(_load(VALUE)), last)]

    def block(self, stmts: list[ast.stmt], loop: _Flags | None) -> tuple[list[ast.stmt], set[str]]:
        """(the statements without jumps, the flags that may be set by them)."""
        out: list[ast.stmt] = []
        for n, s in enumerate(stmts):
            rest = stmts[n + 1 :]
            if isinstance(s, Escape):
                out += self._jump(s, loop)
                return out, self._flag(s, loop)
            if isinstance(s, ast.If) and self._may_jump(s) and (self.always(s.body) or self.always(s.orelse)):
                other = "orelse" if self.always(s.body) else "body"
                setattr(s, other, [*getattr(s, other), *rest])
                rest = []
            endless = _endless(s)  # seen before its `break`s are flags
            new, flags = self.statement(s, loop)
            out += new
            if endless:
                return out, flags
            if flags and rest:
                more, others = self.block(rest, loop)
                out.append(at(ast.If(_none_of(flags), more, []), rest[0]))
                return out, flags | others
            if flags:
                return out, flags
        return out, set()

    def statement(self, s: ast.stmt, loop: _Flags | None) -> tuple[list[ast.stmt], set[str]]:
        """One statement without jumps."""
        if isinstance(s, (ast.For, ast.AsyncFor, ast.While)):
            return self._loop(s, loop)
        flags: set[str] = set()
        if is_compound(s):
            parts = s.cases if isinstance(s, ast.Match) else [s, *getattr(s, "handlers", [])]
            for part in parts:
                for name in ("body", "orelse", "finalbody"):
                    if getattr(part, name, None):
                        new, more = self.block(getattr(part, name), loop)
                        setattr(part, name, new)
                        flags |= more
        return [s], flags

    def _loop(
        self, s: ast.For | ast.AsyncFor | ast.While, outer: _Flags | None
    ) -> tuple[list[ast.stmt], set[str]]:
        self.count += 1
        flags = _Flags(f"_tj_break_{self.count}", f"_tj_continue_{self.count}")
        s.body, inside = self.block(s.body, flags)
        breaks = flags.broken in inside  # one that is never reached sets no flag
        if flags.continued in inside:
            s.body.insert(0, at(_assign(flags.continued, ast.Constant(False)), s))
        returned = inside & {RETURNED}
        stops = ({flags.broken} if breaks else set()) | returned
        self.stops[id(s)] = tuple(sorted(stops))
        start = [at(_assign(flags.broken, ast.Constant(False)), s)] if breaks else []
        if not s.orelse or id(s) in self.plan.plain:
            return [*start, s], returned
        after, more = self.block(s.orelse, outer)
        s.orelse = []
        if stops:
            after = [at(ast.If(_none_of(stops), after, []), after[0])]
        return [*start, s, *after], returned | more

    def _jump(self, s: ast.stmt, loop: _Flags | None) -> list[ast.stmt]:
        if not self.plan.lowered(s):
            return [s]
        if isinstance(s, ast.Return):
            value = s.value or ast.Constant(None)
            return [at(_assign(VALUE, value), s), at(_assign(RETURNED, ast.Constant(True)), s)]
        assert loop is not None
        name = loop.broken if isinstance(s, ast.Break) else loop.continued
        return [at(_assign(name, ast.Constant(True)), s)]

    def _flag(self, s: ast.stmt, loop: _Flags | None) -> set[str]:
        if not self.plan.lowered(s):
            return set()
        if isinstance(s, ast.Return):
            return {RETURNED}
        assert loop is not None
        return {loop.broken if isinstance(s, ast.Break) else loop.continued}

    def _may_jump(self, s: ast.stmt) -> bool:
        return any(self.plan.lowered(e) for e in _leaving(s))

    def always(self, stmts: list[ast.stmt]) -> bool:
        """Whether `stmts` end in a rewritten jump on every way."""
        for s in stmts:
            if isinstance(s, Escape):
                return self.plan.lowered(s)
            if isinstance(s, ast.If) and s.orelse and self.always(s.body) and self.always(s.orelse):
                return True
            if isinstance(s, ast.With) and self.always(s.body):
                return True
        return False


def _endless(s: ast.stmt) -> bool:
    """Whether only `return` or an exception leaves `s`, so that nothing after it is reached."""
    if not (isinstance(s, ast.While) and isinstance(s.test, ast.Constant) and s.test.value):
        return False
    return not any(isinstance(e, ast.Break) for inner in s.body for e in _leaving(inner))


class _Flags:
    """The flags of one loop."""

    def __init__(self, broken: str, continued: str) -> None:
        self.broken = broken
        self.continued = continued


def _leaving(s: ast.stmt) -> Iterator[ast.stmt]:
    """The jumps in `s` that may leave it."""
    if isinstance(s, Escape):
        yield s
    for block in blocks(s) if is_compound(s) else []:
        for inner in block:
            for e in _leaving(inner):
                inside = isinstance(s, (ast.For, ast.AsyncFor, ast.While)) and block is s.body
                if not inside or isinstance(e, ast.Return):
                    yield e


def at(node: Any, place: Any) -> Any:
    """`node` with the line of `place`, where it has none."""
    for n in ast.walk(node):
        if "lineno" in n._attributes and not hasattr(n, "lineno"):
            n.lineno, n.col_offset = place.lineno, place.col_offset  # type: ignore[attr-defined]
            n.end_lineno, n.end_col_offset = n.lineno, n.col_offset  # type: ignore[attr-defined]
    return node


def _assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value, type_comment=None)


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _none_of(flags: set[str]) -> ast.expr:
    tests: list[ast.expr] = [_load(f) for f in sorted(flags)]
    inner = tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), tests)
    return ast.UnaryOp(ast.Not(), inner)
