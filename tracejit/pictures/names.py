"""What the user's source says of equations: lines, the columns of expressions, the names of values."""

from __future__ import annotations

import ast
import itertools
import linecache
from typing import Any

from tracejit.ir.jaxpr import Eqn, Jaxpr, Var, sub_jaxprs
from tracejit.ir.kernel import ScanRegion
from tracejit.ir.source import Pulled, Source
from tracejit.pictures.model import Line

_Span = tuple[int, int, int, int]


class Names:
    """Reads files that equations come from, each once."""

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}
        self._positions: dict[Any, list[Any]] = {}
        self._known: dict[Jaxpr, dict[Var, str]] = {}

    def line(self, source: Source | None) -> Line | None:
        """The line of an equation, with the columns of its expression where Python knows them."""
        if source is None:
            return None
        text = linecache.getline(source.filename, source.line).rstrip("\n")
        span = self._span(source)
        if span is None or span[0] != span[1] or span[0] != source.line:
            return Line(source.filename, source.line, text)
        raw = text.encode()  # columns count bytes
        start, stop = (len(raw[:n].decode(errors="ignore")) for n in span[2:])
        return Line(source.filename, source.line, text, start, stop)

    def counter(self, source: Source | None) -> str:
        """The name of the number of a loop's step: the user's, where that counts from zero."""
        counters = {} if source is None else self._file(source.filename).counters
        return counters.get(source.line, "step") if source is not None else "step"

    def of(self, jaxpr: Jaxpr) -> dict[Var, str]:
        """The user's names of the values that a program computes."""
        if jaxpr not in self._known:
            self._known[jaxpr] = self._of(jaxpr)
        return self._known[jaxpr]

    def _of(self, jaxpr: Jaxpr) -> dict[Var, str]:
        names: dict[Var, str] = {}
        spans: dict[Var, _Span | None] = {}
        outside = self._read_outside(jaxpr)
        done: set[Var] = set()  # of an expression that has its name already, and what is computed from it
        for eqn in jaxpr.eqns:
            span = self._written(eqn.source)
            spans.update(dict.fromkeys(eqn.outvars, span))
            if any(True for _ in sub_jaxprs(eqn.params)):
                names.update(self._from_regions(eqn))
                continue
            v = eqn.outvars[0] if len(eqn.outvars) == 1 else None
            name = self._file(eqn.source.filename).assigned.get(span, "") if span and eqn.source else ""
            if v is None or not name:
                continue
            if any(type(a) is Var and a in done and spans.get(a) == span for a in eqn.invars):
                done.add(v)
            elif v in outside:
                done.add(v)
                names[v] = name
        return names

    def _read_outside(self, jaxpr: Jaxpr) -> set[Var]:
        """What is read by another expression than the one it belongs to, or returned."""
        spans = {v: self._written(e.source) for e in jaxpr.eqns for v in e.outvars}
        found = {a for a in jaxpr.outs if type(a) is Var}
        for e in jaxpr.eqns:
            own = self._written(e.source)
            if own is not None:
                found |= {a for a in e.invars if type(a) is Var and spans.get(a) != own}
        return found

    def _from_regions(self, eqn: Eqn) -> dict[Var, str]:
        """Results of loops and branches, by what is computed inside."""
        found: dict[Var, str] = {}
        carried = eqn.params["carry"] if isinstance(eqn.op.kernel, ScanRegion) else len(eqn.outvars)
        for sub in sub_jaxprs(eqn.params):
            inner = self.of(sub)
            if len(sub.outs) < len(eqn.outvars):
                continue  # the condition of a loop
            for v, a in zip(eqn.outvars[:carried], sub.outs, strict=False):
                name = inner.get(a, "") if type(a) is Var else ""
                if name:
                    found.setdefault(v, name)
        return found

    def _written(self, source: Source | None) -> _Span | None:
        """The expression of which an equation is a part; None for what derivatives compute."""
        return None if source is None or type(source) is Pulled else self._span(source)

    def _span(self, source: Source) -> _Span | None:
        origin = source.origin if isinstance(source, Pulled) else source
        code = getattr(origin, "code", None)  # lines of other processes have none
        if code is None:
            return None
        if code not in self._positions:
            self._positions[code] = list(code.co_positions())
        found = self._positions[code]
        at = origin.lasti // 2
        span: Any = found[at] if 0 <= at < len(found) else None
        return None if span is None or None in span else span

    def _file(self, filename: str) -> _File:
        if filename not in self._files:
            self._files[filename] = _File("".join(linecache.getlines(filename)))
        return self._files[filename]


class _File:
    """`assigned`: expressions -> the one name that each is assigned to. `counters`: line -> the name of the step's
    number in a loop over a range from zero."""

    def __init__(self, text: str) -> None:
        self.assigned: dict[_Span, str] = {}
        self.counters: dict[int, str] = {}
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            return
        for node in ast.walk(tree):
            if isinstance(node, ast.For):
                self._loop(node)
            for target, value in _assignments(node):
                if isinstance(target, ast.Name):
                    self.assigned[_span_of(value)] = target.id

    def _loop(self, node: ast.For) -> None:
        call = node.iter
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and isinstance(node.target, ast.Name)
        ):
            if call.func.id == "range" and len(call.args) == 1:
                self.counters[node.lineno] = node.target.id


def _assignments(node: ast.AST) -> list[tuple[ast.expr, ast.AST]]:
    """(target, value) of a statement or expression that assigns."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        return _pairs(node.targets[0], node.value)
    if isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        return [(node.target, node.value)]
    return [(node.target, node)] if isinstance(node, ast.AugAssign) else []


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.AST]]:
    both = isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List))
    if both and len(target.elts) == len(value.elts):
        return list(itertools.chain(*map(_pairs, target.elts, value.elts)))
    return [(target, value)]


def _span_of(node: Any) -> _Span:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
