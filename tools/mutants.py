"""Mutants of the package: one comparison, operator, operand, sign, number or condition is another one."""

from __future__ import annotations

import ast
import copy
import importlib.machinery
import itertools
import linecache
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

import pytest

ROOT = Path(__file__).parents[1]
_OTHER_COMPARISON = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OTHER_OPERATOR = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
#: What is not behaviour that a test of results could see.
_SKIPPED_FUNCTIONS = ("__repr__", "__str__", "__dir__", "__hash__")


@dataclass(frozen=True)
class Mutant:
    """One change: `new` in place of the text from `start` to `end` (offsets of characters) of a file."""

    path: Path
    line: int
    start: int
    end: int
    old: str
    new: str
    kind: str

    def source(self) -> str:
        text = self.path.read_text(encoding="utf-8")
        return text[: self.start] + self.new + text[self.end :]

    def show(self) -> None:
        """Let this process read the mutant where it asks for the source of the file, as followed code is read."""
        lines = self.source().splitlines(keepends=True)
        linecache.cache[str(self.path)] = sum(map(len, lines)), None, lines, str(self.path)

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line} [{self.kind}] {self.old!r} -> {self.new!r}"


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST, ast.AST]]:
    """(kind, what is replaced, by what) for one node."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        new = copy.copy(node)
        new.ops = [_OTHER_COMPARISON[type(node.ops[0])]()]
        yield "comparison", node, new
    elif isinstance(node, ast.BinOp) and not _is_text(node):
        if type(node.op) in _OTHER_OPERATOR:
            new = copy.copy(node)
            new.op = _OTHER_OPERATOR[type(node.op)]()
            yield "operator", node, new
        if isinstance(node.op, (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult)):
            new = copy.copy(node)
            new.left, new.right = node.right, node.left
            yield "operands swapped", node, new
        if isinstance(node.op, (ast.Add, ast.Sub)):
            yield "term dropped", node, node.left
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        yield "sign" if isinstance(node.op, ast.USub) else "negation", node, node.operand
    elif isinstance(node, ast.BoolOp):
        new = copy.copy(node)
        new.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "connective", node, new
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield "off by one", node, ast.Constant(node.value + 1)
    elif isinstance(node, (ast.If, ast.IfExp)):
        yield "condition skipped", node.test, ast.Constant(False)


def _is_text(node: ast.BinOp) -> bool:
    parts = (node.left, node.right)
    return any(
        isinstance(p, ast.JoinedStr) or (isinstance(p, ast.Constant) and type(p.value) is str) for p in parts
    )


def _skipped(tree: ast.Module) -> set[int]:
    """The ids of nodes that are left alone: annotations, messages of exceptions, text for people."""
    left: set[int] = set()
    for node in ast.walk(tree):
        alone: list[ast.AST | None] = []
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            a = node.args
            alone = [node.returns, *(x.annotation for x in (*a.args, *a.kwonlyargs, *a.posonlyargs))]
            alone += [node] if node.name in _SKIPPED_FUNCTIONS else []
        elif isinstance(node, ast.AnnAssign):
            alone = [node.annotation]
        elif isinstance(node, (ast.Raise, ast.JoinedStr)) or (
            isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        ):
            alone = [node]
        for part in alone:
            left.update(id(x) for x in ast.walk(part)) if part is not None else None
    return left


def mutants(path: Path) -> list[Mutant]:
    """All mutants of one file."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    starts = [0, *itertools.accumulate(map(len, lines))]

    def offset(line: int, column: int) -> int:  # columns count bytes
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    tree = ast.parse(text)
    left = _skipped(tree)
    found = []
    for node in ast.walk(tree):
        if id(node) in left:
            continue
        for kind, old, new in changes(node):
            start = offset(old.lineno, old.col_offset)  # type: ignore[attr-defined]
            end = offset(old.end_lineno, old.end_col_offset)  # type: ignore[attr-defined]
            by = _on_as_many_lines(new, text[start:end])
            found.append(Mutant(path, old.lineno, start, end, text[start:end], by, kind))  # type: ignore[attr-defined]
    return found


def names_at(mutant: Mutant) -> set[str]:
    """What the change is in: functions, classes, variables that are assigned, keys of tables, and the strings that
    calls begin with, as tests may name it; and what uses these in the same file, where their names are private."""
    tree = ast.parse(mutant.path.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            named = [(v, k.value) for k, v in pairs if _is_string(k)]  # type: ignore[union-attr]
        elif isinstance(node, ast.Call) and node.args and _is_string(node.args[0]):
            named = [(node, node.args[0].value)]  # type: ignore[attr-defined]
        else:
            named = [(node, name) for name in _bound(node)]
        found.update(name for at, name in named if at.lineno <= mutant.line <= (at.end_lineno or 0))
    used = {name: _used(node) for node in tree.body for name in _bound(node)}
    new = found
    while new := {n for n, uses in used.items() if any(x.startswith("_") for x in uses & new)} - found:
        found |= new
    return {name.strip("_") for name in found}


def _bound(node: ast.AST) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    return [x.id for x in node.targets if isinstance(x, ast.Name)] if isinstance(node, ast.Assign) else []


def _used(node: ast.AST) -> set[str]:
    return {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}


def _is_string(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is str


def _on_as_many_lines(node: ast.AST, old: str) -> str:
    """The source of a node, with as many lines as what it replaces, so that what follows stays where it is."""
    lines = "\n" * old.count("\n")
    return (
        ast.unparse(node) if isinstance(node, ast.Constant) and not lines else f"({ast.unparse(node)}{lines})"
    )


# ---------------------------------------------------------------- code objects


def replaced(mutant: Mutant) -> list[tuple[CodeType, CodeType]] | None:
    """The code of each function that the mutant changes and what takes its place, the innermost first. None if it
    changes what runs while the module is imported."""
    name = str(mutant.path)
    old = compile(mutant.path.read_text(encoding="utf-8"), name, "exec", dont_inherit=True)
    new = compile(mutant.source(), name, "exec", dont_inherit=True)
    found: list[tuple[CodeType, CodeType]] = []
    return found if _pairs(old, new, found) else None


def _pairs(old: CodeType, new: CodeType, found: list[tuple[CodeType, CodeType]]) -> bool:
    inner = [[c for c in code.co_consts if isinstance(c, CodeType)] for code in (old, new)]
    if len(inner[0]) != len(inner[1]):
        return False
    for a, b in zip(*inner, strict=True):
        if a != b and not _pairs(a, b, found):
            return False
    if old.co_flags & 0x1:  # CO_OPTIMIZED: a function; the others are modules and bodies of classes
        found.append((old, new))
        return True
    rest = [[c for c in code.co_consts if not isinstance(c, CodeType)] for code in (old, new)]
    return old.co_code == new.co_code and rest[0] == rest[1]


# ---------------------------------------------------------------- modules that are imported


def run_imported(path: str, start: str, end: str, new: str, *arguments: str) -> int:
    """Run pytest in this process, in which the package is not imported yet, with the mutant in the file's place."""
    mutant = Mutant(Path(path), 0, int(start), int(end), "", new, "")
    mutant.show()
    usual = importlib.machinery.SourceFileLoader.get_code

    def get_code(self: importlib.machinery.SourceFileLoader, fullname: str) -> CodeType | None:
        if self.path != path:
            return usual(self, fullname)
        return compile(mutant.source(), path, "exec", dont_inherit=True)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
    return pytest.main(list(arguments))


if __name__ == "__main__":
    sys.exit(run_imported(*sys.argv[1:]))
