"""How much the tests notice: change one place of the package at a time, and see whether they fail.

    python tools/mutate.py --count 20 --seed 1
    python tools/mutate.py --count 5 --rooms ops passes
    python tools/mutate.py --show 30                     # print mutants only

A mutant is the package with one change: a comparison or an operator that became another, operands swapped, a term
dropped, a sign flipped, a number one off, a condition negated or skipped. The tests run on a copy of the tree, the
likeliest first: those of the changed file, those of its folder, then the whole of `make test`, each until the first
failure. A mutant that no test kills is printed with its place: it either does the same as the original, which a person
has to judge, or a test is missing. The last lines say how many were killed, and by which stage.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("ops", "passes", "lowering", "frontend", "control", "interpreters", "api", "numpy", "scipy", "lax")
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
#: Seconds after which a stage has failed: the mutant hangs.
_LIMITS = (300, 600, 1800)


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


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def mutants(path: Path) -> list[Mutant]:
    """All mutants of one file."""
    text = path.read_text(encoding="utf-8")
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:  # columns count bytes
        start = starts[line - 1]
        return start + len(text[start:].encode()[:column].decode())

    tree = ast.parse(text)
    left = _skipped(tree)
    found = []
    for node in ast.walk(tree):
        if id(node) in left:
            continue
        for kind, old, new in changes(node):
            start = offset(old.lineno, old.col_offset)  # type: ignore[attr-defined]
            end = offset(old.end_lineno, old.end_col_offset)  # type: ignore[attr-defined]
            by = f"({ast.unparse(new)})" if not isinstance(new, ast.Constant) else ast.unparse(new)
            found.append(Mutant(path, old.lineno, start, end, text[start:end], by, kind))  # type: ignore[attr-defined]
    return found


def chosen(rooms: list[str], count: int, seed: int) -> list[Mutant]:
    """Random mutants: each file as likely as it has places to change."""
    files = [p for room in rooms for p in sorted((ROOT / "tracejit" / room).rglob("*.py"))]
    every = [m for p in files for m in mutants(p)]
    return random.Random(seed).sample(every, min(count, len(every)))


def stages(mutant: Mutant) -> list[tuple[str, list[str]]]:
    """What runs, one after the other, until something fails."""
    inside = mutant.path.relative_to(ROOT / "tracejit")
    folder = Path("tests") / inside.parent
    mirror = folder / f"test_{inside.name}"
    found: list[tuple[str, list[str]]] = []
    if (ROOT / mirror).exists():
        found.append(("its own tests", [str(mirror)]))
    if (ROOT / folder).is_dir():
        found.append(("its folder's tests", [str(folder)]))
    return [*found, ("make test", [])]


def killed_by(mutant: Mutant, tree: Path, jobs: str) -> str | None:
    """The stage in which tests fail; None if none do."""
    target = tree / mutant.path.relative_to(ROOT)
    before = target.read_text(encoding="utf-8")
    target.write_text(mutant.source(), encoding="utf-8")
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(tree)}
    try:
        for (name, targets), limit in zip(stages(mutant), _LIMITS[-len(stages(mutant)) :], strict=True):
            command = [
                sys.executable,
                "-m",
                "pytest",
                "-x",
                "-q",
                "-n",
                jobs,
                "-m",
                "not exhaustive",
                *targets,
            ]
            try:
                done = subprocess.run(
                    command, cwd=tree, env=env, capture_output=True, timeout=limit, check=False
                )
            except subprocess.TimeoutExpired:
                return name
            if done.returncode not in (0, 5):  # 5: no test was chosen
                return name
        return None
    finally:
        target.write_text(before, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=20, help="how many mutants (20)")
    parser.add_argument("--seed", type=int, default=0, help="which (0)")
    parser.add_argument(
        "--rooms", nargs="+", default=list(ROOMS), help=f"folders of the package ({' '.join(ROOMS)})"
    )
    parser.add_argument("--jobs", default="auto", help="processes of pytest (auto)")
    parser.add_argument("--show", type=int, help="only print so many mutants")
    options = parser.parse_args()
    if options.show:
        print(*chosen(options.rooms, options.show, options.seed), sep="\n")
        return 0
    stage: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "__pycache__", "build", "dist"))
        for n, mutant in enumerate(chosen(options.rooms, options.count, options.seed), 1):
            by = killed_by(mutant, tree, options.jobs)
            stage[by or "nothing"] += 1
            print(f"{n:4d} {'SURVIVED' if by is None else f'killed by {by}'}: {mutant}", flush=True)
    killed = sum(stage.values()) - stage["nothing"]
    print(f"\nkilled: {killed} of {sum(stage.values())}")
    for name, count in stage.most_common():
        print(f"{count:5d} by {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
