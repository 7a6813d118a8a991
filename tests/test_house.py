"""The house rules of ARCHITECTURE.md: floors, no function-local imports, tests that mirror files."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tracejit"

FLOORS = [
    {"errors", "config", "tree", "dtypes"},
    {"ir"},
    {"tracing"},
    {"ops", "passes", "lowering"},
    {"interpreters"},
    {"control"},
    {"numpy", "lax"},
    {"frontend", "api", "doctor", "test_util", "__init__", "__main__"},
]
LEVEL = {room: n for n, rooms in enumerate(FLOORS) for room in rooms}
# Rooms of one floor that may know each other, and nothing more.
NEIGHBOURS = {
    ("dtypes", "errors"),
    ("tree", "errors"),
    ("config", "errors"),
    ("lax", "numpy"),
    ("api", "frontend"),
    ("test_util", "api"),
    ("__init__", "*"),
    ("__main__", "*"),
}
# Tests of the whole rather than of one file.
WHOLE = {"house", "readme", "proofs", "rules", "programs", "composition", "semantics", "transparency", "demo"}
MAX_LINES = 400

FILES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """The rooms of the package that a file imports."""
    rooms = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{_name(path)}:{node.lineno}: relative import"
            module = node.module or ""
            names = [f"tracejit.{a.name}" for a in node.names] if module == "tracejit" else [module]
        else:
            continue
        rooms |= {n.split(".")[1] for n in names if n.startswith("tracejit.")}
    return {r if r in LEVEL else "__init__" for r in rooms}


def _allowed(room: str, other: str) -> bool:
    if LEVEL[other] != LEVEL[room]:
        return LEVEL[other] < LEVEL[room]
    return room == other or (room, other) in NEIGHBOURS or (room, "*") in NEIGHBOURS


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_imports_go_down_only(path):
    room = room_of(path)
    assert room in LEVEL, f"{_name(path)} is on no floor: add it to ARCHITECTURE.md and to FLOORS"
    wrong = {other for other in imported_rooms(path) if not _allowed(room, other)}
    assert not wrong, f"{_name(path)} ({room}) imports {wrong}"


def test_jit_is_the_only_door_to_passes_and_lowering():
    rooms = {"passes", "lowering"}
    doors = {_name(p) for p in FILES if imported_rooms(p) & rooms and room_of(p) not in rooms}
    assert {d for d in doors if not d.startswith("tracejit/interpreters/jit")} == set()


@pytest.mark.parametrize("path", [p for p in FILES if room_of(p) in ("passes", "lowering")], ids=_name)
def test_passes_and_lowering_know_records_not_names(path):
    assert "ops" not in imported_rooms(path)


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_no_function_local_imports(path):
    bad = [n.lineno for f in _functions(path) for n in ast.walk(f) if isinstance(n, (ast.Import, ast.ImportFrom))]
    assert not bad, f"{_name(path)}: imports inside functions at lines {bad}"


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_files_are_short(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= MAX_LINES, f"{_name(path)} has {lines} lines"


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_no_stubs(path):
    abstract = {"Trace.process"}
    stubs = [f"{owner}{f.name}" for owner, f in _methods(path) if _is_stub(f)]
    assert set(stubs) <= abstract, f"{_name(path)}: {stubs} only raise NotImplementedError"


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_modules_say_what_they_are(path):
    assert ast.get_docstring(_tree(path)), f"{_name(path)} has no docstring"


@pytest.mark.parametrize("path", TESTS, ids=_name)
def test_tests_mirror_files(path):
    """tests/ops/test_reduce.py tests tracejit/ops/reduce.py, or a part of it: test_reduce_axes.py."""
    folder = PACKAGE / path.relative_to(ROOT / "tests").parent
    stem = path.stem.removeprefix("test_")
    if path.parent == ROOT / "tests" and stem.split("_")[0] in WHOLE:
        return
    candidates = [stem, f"__{stem}__", *(stem.rsplit("_", n)[0] for n in range(1, stem.count("_") + 1))]
    assert any((folder / f"{c}.py").exists() or (folder / c).is_dir() for c in candidates), (
        f"{_name(path)} tests no file of {_name(folder)}"
    )


def _functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (n for n in ast.walk(_tree(path)) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))


def _methods(path: Path) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in ast.walk(_tree(path)):
        owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        body = node.body if isinstance(node, (ast.ClassDef, ast.Module)) else []
        yield from ((owner, f) for f in body if isinstance(f, ast.FunctionDef))


def _is_stub(f: ast.FunctionDef) -> bool:
    last = f.body[-1]
    documented = len(f.body) == 1 or (len(f.body) == 2 and isinstance(f.body[0], ast.Expr))
    return documented and isinstance(last, ast.Raise) and "NotImplementedError" in ast.unparse(last)
