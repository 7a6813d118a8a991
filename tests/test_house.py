"""The house rules of ARCHITECTURE.md: floors, no function-local imports, tests that mirror files."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.test_docstrings import LACKING, lacking
from tests.test_docstrings import MODULES as DOCUMENTED
from tracejit.docstrings import path_of

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tracejit"

FLOORS = [
    {
        "errors",
        "config",
        "tree",
        "dtypes",
        "records",
        "lazily",
        "version",
        "startup",
        "docstrings",
        "timeline",
        "bars",
    },
    {"ir"},
    {"tracing"},
    {"ops", "passes", "lowering"},
    {"interpreters"},
    {"control"},
    {"numpy", "lax", "scipy", "random", "nn", "debug", "flatten_util", "image"},
    {
        "frontend",
        "api",
        "experimental",
        "extend",
        "optim",
        "profiling",
        "pictures",
        "terminal",
        "ad_checkpoint",
        "custom_derivatives",
        "custom_batching",
        "doctor",
        "test_util",
        "tree_util",
        "__init__",
        "__main__",
    },
]
LEVEL = {room: n for n, rooms in enumerate(FLOORS) for room in rooms}
# Rooms of one floor that may know each other, and nothing more.
NEIGHBOURS = {
    ("bars", "lazily"),
    ("docstrings", "errors"),
    ("lazily", "docstrings"),
    ("tree", "docstrings"),
    ("dtypes", "errors"),
    ("tree", "errors"),
    ("config", "errors"),
    ("config", "records"),
    ("lax", "numpy"),
    ("scipy", "numpy"),
    ("scipy", "lax"),
    ("random", "numpy"),
    ("random", "lax"),
    ("random", "scipy"),
    ("nn", "numpy"),
    ("nn", "lax"),
    ("nn", "scipy"),
    ("nn", "random"),
    ("debug", "numpy"),
    ("flatten_util", "numpy"),
    ("image", "numpy"),
    ("scipy", "flatten_util"),
    ("api", "frontend"),
    ("test_util", "api"),
    ("extend", "api"),
    ("optim", "api"),
    ("profiling", "api"),
    ("pictures", "api"),
    ("terminal", "api"),
    ("terminal", "pictures"),
    ("terminal", "__init__"),
    ("ad_checkpoint", "api"),
    ("__init__", "*"),
    ("__main__", "*"),
}
# Tests of the whole rather than of one file.
WHOLE = {
    "house",
    "readme",
    "docs",
    "golden",
    "ipython",
    "proofs",
    "rules",
    "programs",
    "effects",
    "tricky",
    "threads",
    "nesting",
    "door",
    "demo",
    "site",
    "wheel",
    "gpu",
    "jax",
}
MAX_LINES = 400
MAX_FILES = 20
# Where a program passes through, from a call to machine code.
PIPELINE = {"api", "frontend", "control", "ops", "interpreters", "lowering"}

FILES = sorted(PACKAGE.rglob("*.py"))
#: Dotted name -> file, of the package and of the benchmarks.
MODULES = {
    ".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p
    for p in (*FILES, *sorted((ROOT / "benchmarks").rglob("*.py")))
}
FOLDERS = sorted({p.parent for p in FILES})
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def _statements(path: Path) -> list[ast.AST]:
    """All nodes of a file that lie in no expression, where most nodes are."""
    found: list[ast.AST] = []
    todo: list[ast.AST] = [_tree(path)]
    while todo:
        node = todo.pop()
        found.append(node)
        todo.extend(n for n in ast.iter_child_nodes(node) if not isinstance(n, ast.expr))
    return found


@cache
def _imports_of(path: Path) -> list[ast.Import | ast.ImportFrom]:
    return [n for n in _statements(path) if isinstance(n, (ast.Import, ast.ImportFrom))]


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


@cache
def imported_rooms(path: Path) -> set[str]:
    """The rooms of the package that a file imports."""
    rooms = set()
    for node in _imports_of(path):
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        else:
            assert not node.level, f"{_name(path)}:{node.lineno}: relative import"
            module = node.module or ""
            names = [f"tracejit.{a.name}" for a in node.names] if module == "tracejit" else [module]
        rooms |= {n.split(".")[1] for n in names if n.startswith("tracejit.")}
    return {r if r in LEVEL else "__init__" for r in rooms}


def _imports(module: str) -> dict[str, set[str]]:
    """The files that a file imports, with the names. What a package offers when asked (`lazily.parts`) it has in
    a table, repeated for type checkers: it does not use these parts."""
    tree, found = _tree(MODULES[module]), {}
    is_table = MODULES[module].name == "__init__.py" and any(
        isinstance(n, ast.ImportFrom) and n.module == "tracejit.lazily" for n in tree.body
    )
    tables = [
        set(ast.walk(n))
        for n in tree.body
        if is_table and isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"
    ]
    for n in _imports_of(MODULES[module]):
        if any(n in table for table in tables):
            continue
        if isinstance(n, ast.Import):
            names = [(a.name, a.name) for a in n.names]
        else:
            whole = [(f"{n.module}.{a.name}", a.name) for a in n.names]
            names = [(m if m in MODULES else n.module or "", name) for m, name in whole]
        for m, name in names:
            if m in MODULES:
                found.setdefault(m, set()).add(name)
    return found


def _circles(graph: dict[str, dict[str, set[str]]]) -> list[list[str]]:
    """The strongly connected parts of more than one file, by Tarjan's algorithm."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    done: set[str] = set()
    found = []

    def visit(m: str) -> None:
        number[m] = lowest[m] = len(number)
        path.append(m)
        for other in graph[m]:
            if other not in number:
                visit(other)
            if other not in done:
                lowest[m] = min(lowest[m], lowest[other])
        if lowest[m] == number[m]:
            part = path[path.index(m) :]
            del path[path.index(m) :]
            done.update(part)
            if len(part) > 1 or m in graph[m]:
                found.append(sorted(part))

    for m in graph:
        if m not in number:
            visit(m)
    return found


def _allowed(room: str, other: str) -> bool:
    if LEVEL[other] != LEVEL[room]:
        return LEVEL[other] < LEVEL[room]
    return room == other or (room, other) in NEIGHBOURS or (room, "*") in NEIGHBOURS


def test_every_file_is_on_a_floor():
    lost = {room_of(p) for p in FILES} - LEVEL.keys()
    assert not lost, f"{lost} are on no floor: add them to ARCHITECTURE.md and to FLOORS"


def test_imports_go_down_only():
    wrong = [
        f"{_name(p)} imports {other}"
        for p in FILES
        for other in sorted(imported_rooms(p))
        if not _allowed(room_of(p), other)
    ]
    assert wrong == []


def test_no_circles():
    """No file needs itself, by way of others: imports for type checkers count too, also within a room."""
    graph = {m: _imports(m) for m in MODULES}
    circles = [
        [
            f"{a} imports {', '.join(sorted(graph[a][b]))} from {b}"
            for a in c
            for b in sorted(graph[a])
            if b in c
        ]
        for c in _circles(graph)
    ]
    assert circles == []


def test_jit_is_the_only_door_to_passes_and_lowering():
    rooms = {"passes", "lowering"}
    doors = [_name(p) for p in FILES if imported_rooms(p) & rooms and room_of(p) not in rooms]
    assert [d for d in doors if not d.startswith("tracejit/interpreters/jit")] == []


def test_passes_and_lowering_know_records_not_names():
    assert [
        _name(p) for p in FILES if room_of(p) in ("passes", "lowering") and "ops" in imported_rooms(p)
    ] == []


def test_no_function_local_imports():
    bad = {
        f"{_name(p)}:{n.lineno}"
        for p in FILES
        for n in _imports_of(p)
        for f in _functions(p)
        if f.lineno <= n.lineno <= (f.end_lineno or 0)
    }
    assert bad == set()


def test_files_are_short():
    lines = {_name(p): len(p.read_text(encoding="utf-8").splitlines()) for p in FILES}
    assert {name: n for name, n in lines.items() if n > MAX_LINES} == {}


def test_folders_are_small():
    held = {_name(d): sum(p.is_file() for p in d.iterdir()) for d in FOLDERS}
    assert {folder: n for folder, n in held.items() if n > MAX_FILES} == {}


def test_folders_of_the_pipeline_say_what_they_do():
    """At least two sentences, after the title: what comes in, what goes out, and the order to read the files in."""
    rooms = [d for d in FOLDERS if d != PACKAGE and room_of(d) in PIPELINE]
    docs = {_name(d): ast.get_docstring(_tree(d / "__init__.py")) or "" for d in rooms}
    assert [d for d, text in docs.items() if len(re.findall(r"[.)`](?=\s|$)", text)) < 2] == []


def test_no_stubs():
    """A method that only raises NotImplementedError is abstract: a subclass defines it."""
    classes = [c for p in FILES for c in _statements(p) if isinstance(c, ast.ClassDef)]
    defined = {(ast.unparse(b).split(".")[-1], m) for c in classes for b in c.bases for m in _methods(c)}
    stubs = [(c.name, name) for c in classes for name, f in _methods(c).items() if _is_stub(f)]
    assert [s for s in stubs if s not in defined] == []
    assert [f"{_name(p)}:{f.lineno}" for p in FILES for f in _tree(p).body if _is_stub(f)] == []


def test_modules_say_what_they_are():
    assert [_name(p) for p in FILES if not ast.get_docstring(_tree(p))] == []


def test_tests_mirror_files():
    """tests/ops/shapes/test_shape.py tests tracejit/ops/shapes/shape.py, or a part of it: test_shape_views.py."""
    assert [_name(t) for t in TESTS if not _mirrors(t)] == []


def test_import_is_light():
    """numba, LLVM, SciPy and CuPy load when they are first used."""
    code = (
        "import sys, tracejit; print([m for m in ('numba', 'llvmlite', 'scipy', 'cupy') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_import_loads_little():
    """Speed is measured in `benchmarks` (the row "import"); here, that nothing large is loaded before it is used."""
    code = "import numpy, sys; before = {*sys.modules}; import tracejit; print(*({*sys.modules} - before))"
    loaded = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True).split()
    roots = {name.partition(".")[0] for name in loaded}
    assert not roots & {"scipy", "numba", "llvmlite", "asyncio", "rich", "cupy", "platformdirs", "hypothesis"}
    assert sum(name.partition(".")[0] == "tracejit" for name in loaded) < 600


def _mirrors(path: Path) -> bool:
    folder = PACKAGE / path.relative_to(ROOT / "tests").parent
    stem = path.stem.removeprefix("test_")
    if path.parent == ROOT / "tests" and stem.split("_")[0] in WHOLE:
        return True
    if path.parent == ROOT / "tests" / "programs":  # of the whole, too
        return True
    candidates = [
        stem,
        f"{stem}_",
        f"__{stem}__",
        *(stem.rsplit("_", n)[0] for n in range(1, stem.count("_") + 1)),
    ]
    return any((folder / f"{c}.py").exists() or (folder / c).is_dir() for c in candidates)


@cache
def _functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [n for n in _statements(path) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]


def _methods(c: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    return {f.name: f for f in c.body if isinstance(f, ast.FunctionDef)}


def _is_stub(f: ast.AST) -> bool:
    if not isinstance(f, ast.FunctionDef):
        return False
    alone = len(f.body) == 1 or (len(f.body) == 2 and isinstance(f.body[0], ast.Expr))
    return alone and isinstance(f.body[-1], ast.Raise) and "NotImplementedError" in ast.unparse(f.body[-1])


@pytest.mark.parametrize("module", DOCUMENTED)
def test_public_docstrings_have_every_section(module: str) -> None:
    lack = set(lacking(module))
    told = f"each needs a record in {path_of(module)} (see tracejit.docstrings), completed by pytest --update-golden"
    assert not lack - LACKING.get(module, set()), f"{sorted(lack)}: {told}"
    assert LACKING.get(module, set()) <= lack, "complete by now: strike it off the list"
