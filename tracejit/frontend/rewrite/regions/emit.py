"""A function's code with places where parts of it may be run natively:

    for k in range(n):            _tj_out = table.r0
        s += x[k]                 if _tj_out is not None:
                                      try: _tj_out = _tj_out(n, s, x)
                                      except NameError: _tj_out = None  # one of them is not bound
                                  if _tj_out is not None:
                                      (s,) = _tj_out
                                      _tj_out = None
                                  else:
                                      for k in range(n):
                                          s += x[k]
                                      if table.r0 is not None: table.r0.leave()

    print(total(x))               print((total if table.c1 is None else table.c1(total))(x))

Where an entry of the table is None the statements cost what they cost anyway, and where a native run gives nothing
Python does what is written. Every line keeps its number.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from typing import Any

from tracejit.frontend.rewrite.regions.fit import against, may_be_users, stays_whole, works
from tracejit.frontend.rewrite.regions.live import Flow, interface
from tracejit.frontend.rewrite.source.code import (
    Function,
    argument_names,
    compile_function,
    function_tree,
    quiet,
    with_tuples,
)
from tracejit.frontend.rewrite.source.escapes import at, is_compound
from tracejit.frontend.rewrite.source.names import assigned, copied, declared, kept, walk
from tracejit.frontend.rewrite.source.transform import Unchanged, undecorated
from tracejit.records import record

#: A constant of the code, in the place of which the table is put.
TABLE = "tracejit: table"
#: Regions of a function, one in another, and places of a function in all.
_DEEPEST, _MOST = 3, 60
Spot = tuple[str, int, int, int]  # kind, first line and column, last line
_LOCALS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@record(frozen=True)
class Part:
    """A part of a function that may be run natively.

    `entry`: its name in the table. `inside`: the entry of the part that it is in. `lines`: the first and the last;
    `spot` tells parts apart. Of regions, `code` is that of a function which takes the names `takes` and gives those
    of `gives` as a tuple, and `stmts` what it was made of; of calls, `code` is None."""

    entry: str
    inside: str | None
    spot: Spot
    lines: tuple[int, int]
    takes: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    code: types.CodeType | None = None
    definition: Any = None  # its syntax tree
    stmts: tuple[ast.stmt, ...] = ()


@record(frozen=True)
class Known:
    """What is known of a function before it is split: its global names and builtins, the lines that can't be compiled,
    the number of the first entry, and of parts what has become of them: `small`, or `refused` as a whole."""

    names: dict[str, Any]
    refused: Collection[int] = ()
    first: int = 0
    judged: Mapping[Spot, str] = field(default_factory=dict)


@record(frozen=True)
class Cut:
    """A statement that ended a part: its line, and why it is none of one; '' if tracing has refused it."""

    line: int
    why: str


def cuts(code: types.CodeType, known: Known) -> list[Cut]:
    """What ends the parts of a function; nothing where it has none. Raises NoSource."""
    try:
        splitter = _splitter(code, known)
    except Unchanged:
        return []
    return sorted(set(splitter.cuts), key=lambda cut: cut.line) if splitter.parts else []


def split(code: types.CodeType, known: Known, table: Any) -> tuple[types.CodeType, list[Part]]:
    """The code of a function with its parts, whose entries are attributes of `table`.

    Raises NoSource, and Unchanged where there are no parts."""
    splitter = _splitter(code, known)
    if not splitter.parts:
        raise Unchanged
    new = compile_function(splitter.node, function_tree(code)[1], code)
    return _with_table(new, table), splitter.parts


def _splitter(code: types.CodeType, known: Known) -> _Splitter:
    """What has rewritten a copy of the function's tree."""
    node = copied(function_tree(code)[0])
    body = node.body if isinstance(node.body, list) else [node.body]
    if stays_whole([*body, node.args], code, known.names):
        raise Unchanged
    undecorated(node)
    splitter = _Splitter(node, code, known)
    splitter.function()
    return splitter


def _with_table(code: types.CodeType, table: Any) -> types.CodeType:
    """`code` with the table in the place of its mark; functions defined in it have none, but comprehensions may."""

    def constant(x: object) -> object:
        if isinstance(x, types.CodeType):
            return _with_table(x, table)
        return table if type(x) is str and x == TABLE else x

    return code.replace(co_consts=tuple([constant(x) for x in code.co_consts]))


class _Splitter:
    """Rewrites one function, in place."""

    def __init__(
        self,
        node: Function,
        code: types.CodeType,
        known: Known,
    ) -> None:
        self.node, self.code, self.known = node, code, known
        self.parts: list[Part] = []
        self.cuts: list[Cut] = []
        body = node.body if isinstance(node.body, list) else []
        outer = declared(body, ast.Global) | declared(body, ast.Nonlocal)
        self.names = (assigned(body) | set(argument_names(node)) | set(code.co_freevars)) - declared(
            body, ast.Global
        )
        self.own = self.names - set(code.co_freevars)
        self.hidden = self.names | set(_inner(node))
        self.fixed = outer | kept(body)
        self.flow = Flow(body, declared(body, ast.Nonlocal)) if body else None

    def function(self) -> None:
        if isinstance(self.node, ast.Lambda):
            self.node.body = _Calls(self, None).visit(self.node.body)
        else:
            self.node.body = self.block(self.node.body, None, 0, whole=True)

    def block(
        self, stmts: list[ast.stmt], inside: str | None, depth: int, whole: bool = False
    ) -> list[ast.stmt]:
        """A block with its parts: as many statements as there are between those that can't be compiled are one."""
        out: list[ast.stmt] = []
        run: list[ast.stmt] = []
        for s in stmts:
            why = against(s, self.fixed, self.own)
            if why is None and not self.is_refused(s):
                run.append(s)
                continue
            self.cut(s, why or "")
            out += self.run(run, inside, depth)
            out += self.pieces([s], inside, depth)
            run = []
        if whole and len(run) == len(stmts):  # the function itself, which was refused
            return self.pieces(run, inside, depth)
        return out + self.run(run, inside, depth)

    def cut(self, s: ast.stmt, why: str) -> None:
        """`s` ends a part; of what holds other statements, one of these."""
        if not isinstance(s, (ast.Return, ast.Pass)) and not (is_compound(s) and self.is_refused(s)):
            self.cuts.append(Cut(s.lineno, why))

    def entry(self, kind: str) -> str:
        return f"{kind}{self.known.first + len(self.parts)}"

    def is_refused(self, s: ast.stmt) -> bool:
        return any(s.lineno <= line <= (s.end_lineno or s.lineno) for line in self.known.refused)

    def run(self, stmts: list[ast.stmt], inside: str | None, depth: int) -> list[ast.stmt]:
        """Statements as a region."""
        if not works(stmts, inside is not None):
            return stmts
        if depth >= _DEEPEST or len(self.parts) >= _MOST:
            return stmts
        return self.region(stmts, inside, depth)

    def region(self, stmts: list[ast.stmt], inside: str | None, depth: int) -> list[ast.stmt]:
        assert self.flow is not None
        spot = "region", stmts[0].lineno, stmts[0].col_offset, stmts[-1].lineno
        fate = self.known.judged.get(spot)
        if fate is not None:
            return stmts if fate == "small" else self.pieces(stmts, inside, depth)
        entry = self.entry("r")
        takes, gives = interface(stmts, self.names, self.flow.out[id(stmts[-1])])
        made = self.outlined(stmts, takes, gives)
        lines = stmts[0].lineno, max(s.end_lineno or s.lineno for s in stmts)
        self.parts.append(Part(entry, inside, spot, lines, takes, gives, *made, tuple(copied(list(stmts)))))
        return _guarded(entry, takes, gives, self.pieces(stmts, entry, depth + 1))

    def pieces(self, stmts: list[ast.stmt], inside: str | None, depth: int) -> list[ast.stmt]:
        """Statements that Python runs: loops and simple statements between them may be regions, one by one."""
        if len(stmts) == 1:
            return [self.python(stmts[0], inside, depth)]
        out: list[ast.stmt] = []
        run: list[ast.stmt] = []
        for s in stmts:
            if not is_compound(s):
                run.append(s)
                continue
            out += [*self.simple(run, stmts, inside, depth), *self.run([s], inside, depth)]
            run = []
        return out + self.simple(run, stmts, inside, depth)

    def simple(
        self, run: list[ast.stmt], of: list[ast.stmt], inside: str | None, depth: int
    ) -> list[ast.stmt]:
        if not run or len(run) < len(of):
            return self.run(run, inside, depth)
        return [self.python(s, inside, depth) for s in run]

    def python(self, s: ast.stmt, inside: str | None, depth: int) -> ast.stmt:
        """A statement that stays Python's, with parts in it."""
        if is_compound(s):
            held: list[tuple[Any, str, list[Any]]] = []
            for owner in (s, *getattr(s, "handlers", []), *getattr(s, "cases", [])):
                for name in ("body", "orelse", "finalbody"):
                    stmts = getattr(owner, name, None)
                    if stmts:
                        held.append((owner, name, self.block(stmts, inside, depth)))
                        setattr(owner, name, [])
            s = _Calls(self, inside).visit(s)  # what is left is the head
            for owner, name, stmts in held:
                setattr(owner, name, stmts)
            return s
        return _Calls(self, inside).visit(s)

    def outlined(
        self, stmts: list[ast.stmt], takes: tuple[str, ...], gives: tuple[str, ...]
    ) -> tuple[types.CodeType, Any]:
        """The code and the definition of a function of `stmts`."""
        values = ast.Tuple([ast.Name(n, ast.Load()) for n in gives], ast.Load())
        arguments = ast.arguments([], [ast.arg(n) for n in takes], None, [], [], None, [])
        body = [*copied(stmts), at(ast.Return(values), stmts[-1])]
        new: Any = ast.FunctionDef(self.code.co_name, arguments, body, [], None)
        new.type_params = []
        new = at(new, stmts[0])
        module = ast.fix_missing_locations(ast.Module([new], []))
        flags = self.code.co_flags & 0x1FF0000 & ~0x200  # those of __future__ statements
        with quiet(self.code.co_filename):
            compiled = compile(module, self.code.co_filename, "exec", flags=flags, dont_inherit=True)
        code = next(c for c in compiled.co_consts if isinstance(c, types.CodeType))
        return with_tuples(code.replace(co_qualname=self.code.co_qualname), self.code), new


class _Calls(ast.NodeTransformer):
    """Calls of what may be the user's functions, as places of the table."""

    def __init__(self, splitter: _Splitter, inside: str | None) -> None:
        self.splitter, self.inside = splitter, inside

    def visit(self, node: ast.AST) -> Any:
        return node if isinstance(node, _LOCALS) else super().visit(node)

    def visit_Call(self, e: ast.Call) -> Any:
        call: Any = self.generic_visit(e)
        s = self.splitter
        if len(s.parts) >= _MOST or not may_be_users(call.func, s.hidden, s.known.names):
            return call
        spot = "call", e.lineno, e.col_offset, e.end_lineno or e.lineno
        if spot in s.known.judged:
            return call
        entry = s.entry("c")
        s.parts.append(Part(entry, self.inside, spot, (e.lineno, e.end_lineno or e.lineno)))
        place = _entry(entry)
        test = ast.Compare(place, [ast.Is()], [ast.Constant(None)])
        chosen = ast.IfExp(test, call.func, ast.Call(copied(place), [copied(call.func)], []))
        call.func = at(chosen, e)
        return call


def _inner(node: Function) -> Iterable[str]:
    """Names that comprehensions of a function bind."""
    kinds = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    body: list[Any] = node.body if isinstance(node.body, list) else [node.body]
    for c in walk(body):
        if isinstance(c, kinds):
            yield from (n.id for g in c.generators for n in ast.walk(g.target) if isinstance(n, ast.Name))


def _entry(name: str) -> ast.Attribute:
    return ast.Attribute(ast.Constant(TABLE), name, ast.Load())


def _guarded(
    entry: str, takes: tuple[str, ...], gives: tuple[str, ...], inline: list[ast.stmt]
) -> list[ast.stmt]:
    """The statements `inline` behind the question whether their results are known."""
    place = f"{TABLE!r}.{entry}"
    known = f"({', '.join(gives)},) = _tj_out\n    " if gives else ""
    source = f"""
_tj_out = {place}
if _tj_out is not None:
    try:
        _tj_out = _tj_out({", ".join(takes)})
    except {TABLE!r}.unbound:
        _tj_out = None
if _tj_out is not None:
    {known}_tj_out = None
else:
    if {place} is not None:
        {place}.leave()
"""
    asked = ast.parse(source).body
    for s in asked:
        for n in ast.walk(s):
            if "lineno" in n._attributes:
                del n.lineno, n.col_offset, n.end_lineno, n.end_col_offset  # type: ignore[attr-defined]
        at(s, inline[0])
    asked[-1].orelse = [*inline, *asked[-1].orelse]  # type: ignore[attr-defined]
    return asked
