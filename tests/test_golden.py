"""Golden files: the program as traced, after the passes, and as loops. `pytest --update-golden` rewrites them.

They pin no decision; they show in a diff what a change does to the programs of some typical functions.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import tracejit as tj
from tests.golden.programs import OPTIONS, PROGRAMS
from tracejit.ir.pretty import format_jaxpr

FOLDER = Path(__file__).parent / "golden"
LINES = re.compile(r" +# \w+\.py:\d+$", re.MULTILINE)


def text_of(name: str) -> str:
    fun, args = PROGRAMS[name]
    lowering = tj.jit(fun, **OPTIONS.get(name, {})).lower(*args)
    compiled = lowering.compile()
    parts = {
        "traced": format_jaxpr(lowering.jaxpr, source=False),
        "after the passes": format_jaxpr(compiled.jaxpr, source=False),
        "loops": LINES.sub("", compiled.as_text("loops")),  # without the user's lines, which move
    }
    return "".join(f"==== {title}\n\n{text.rstrip()}\n\n" for title, text in parts.items()).rstrip() + "\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_golden(name: str, request: pytest.FixtureRequest) -> None:
    path, text = FOLDER / f"{name}.txt", text_of(name)
    if request.config.getoption("--update-golden"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "see the diff; `pytest --update-golden` accepts it"


def test_every_file_belongs_to_a_program() -> None:
    assert {p.stem for p in FOLDER.glob("*.txt")} == set(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_functions_are_right(name: str) -> None:
    fun, args = PROGRAMS[name]
    mine, theirs = tj.tree.map(_copy, args), tj.tree.map(_copy, args)
    tj.tree.map(_close, tj.jit(fun, **OPTIONS.get(name, {}))(*mine), fun(*theirs))
    tj.tree.map(_close, mine, theirs)


def _copy(x: Any) -> Any:
    return x.copy() if hasattr(x, "copy") else x


def _close(a: Any, b: Any) -> None:
    assert a == pytest.approx(b, rel=1e-12, abs=1e-12)
