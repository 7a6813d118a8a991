"""The documents are true: their code runs, the files they name exist, and every public name has a docstring."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tracejit as tj
from tests.sources import compiled
from tracejit.errors import CODES
from tracejit.ir.primitive import REGISTRY

ROOT = Path(__file__).parents[1]
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def test_the_worked_example_of_an_op() -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```", ARCHITECTURE, re.MULTILINE | re.DOTALL)
    before = set(REGISTRY)
    try:
        exec(compiled(block, "ARCHITECTURE.md"), {"__name__": "architecture"})
        assert set(REGISTRY) - before == {"softplus"}
    finally:
        for name in set(REGISTRY) - before:
            del REGISTRY[name]


PAGES = sorted((ROOT / "docs").rglob("*.md"))


@pytest.mark.sample(2)
@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT / "docs").with_suffix("")))
def test_the_pages_run(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page is one program: its blocks run in order, in one module, which dataclasses look for."""
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    before = set(REGISTRY)
    module = types.ModuleType(f"page_{page.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    space = vars(module)
    try:
        with tj.config.override(fallback=True, compile_budget=0):  # as for a user who has time
            for n, block in enumerate(blocks):
                exec(compiled(block, f"{page.name}[{n}]"), space)
    finally:
        for name in set(REGISTRY) - before:
            del REGISTRY[name]


def test_the_page_of_refusals_has_what_tracing_refuses() -> None:
    page = (ROOT / "docs/refused.md").read_text(encoding="utf-8")
    codes = set(re.findall(r"TJ\d{3}", page))
    assert codes <= set(CODES)
    files = ("arrays", "tracing", "loops", "functions")
    refusals = {c for c, cls in CODES.items() if cls.__module__.rpartition(".")[2] in files and c[2] in "12"}
    raised_as_numpy_does = {"TJ108", "TJ210"}
    assert refusals - codes - raised_as_numpy_does == set()


def test_every_room_has_a_floor_in_the_table() -> None:
    table = "\n".join(line for line in ARCHITECTURE.splitlines() if re.match(r"\| F\d", line))
    rooms = {
        p.name.removesuffix(".py") for p in (ROOT / "tracejit").iterdir() if p.suffix == ".py" or p.is_dir()
    }
    assert [r for r in sorted(rooms - {"__pycache__"}) if not re.search(rf"\b{r}\b", table)] == []


@pytest.mark.parametrize(
    "name", re.findall(r"`((?:lowering|api|frontend|ops|tracing|values)\.[A-Za-z_.]+)`", ARCHITECTURE)
)
def test_names_in_the_architecture_exist(name: str) -> None:
    found = sum(len(list(_lookup(root, name))) for root in ("tracejit", "tracejit.ir"))
    assert found, name


def _lookup(root: str, name: str) -> Iterator[Any]:
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            obj: Any = importlib.import_module(f"{root}.{'.'.join(parts[:cut])}")
        except ImportError:
            continue
        for part in parts[cut:]:
            obj = getattr(obj, part, None)
        if obj is not None:
            yield obj
            return


def public_names() -> Iterator[tuple[str, Any]]:
    for name in tj.__all__:
        yield f"tj.{name}", getattr(tj, name)
    for name in tj.tree.__all__:
        yield f"tj.tree.{name}", getattr(tj.tree, name)
    for name in dir(tj.lax):
        if not name.startswith("_"):
            yield f"tj.lax.{name}", getattr(tj.lax, name)
    for name in tj.numpy.__all__:
        yield f"tj.numpy.{name}", getattr(tj.numpy, name)


def test_every_public_name_has_a_docstring() -> None:
    names = [(name, x) for name, x in public_names() if callable(x) or inspect.ismodule(x)]
    assert [name for name, x in names if not (x.__doc__ or "").strip()] == []
    assert len(names) > 400


def test_every_public_parameter_is_annotated() -> None:
    functions = [(n, f) for n, f in public_names() if inspect.isfunction(f) and not n.startswith("tj.numpy")]
    bare = [
        f"{name}({p.name})"
        for name, f in functions
        for p in inspect.signature(f).parameters.values()
        if p.annotation is p.empty and not hasattr(f, "op")
    ]
    assert bare == []


def test_documents_name_existing_files() -> None:
    for document in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", *PAGES):
        text = (ROOT / document).read_text(encoding="utf-8")
        for path in re.findall(r"`((?:tests|tracejit|examples)/[\w/.]+)`", text):
            assert (ROOT / path).exists(), f"{document}: {path}"
