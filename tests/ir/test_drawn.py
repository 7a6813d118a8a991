"""Programs draw themselves; what draws them loads at the first picture."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

import tracejit as tj
from tracejit.ir.drawn import Drawn


def test_what_holds_a_program_is_drawn(tmp_path: Path) -> None:
    closed = tj.make_jaxpr(np.sin)(1.0)
    assert isinstance(closed, Drawn) and closed.draw().stage == "traced"
    closed.save(tmp_path / "p.json")
    assert (tmp_path / "p.json").exists() and closed._repr_svg_().startswith("<svg")


def test_pictures_load_at_their_first_use() -> None:
    code = "import sys, tracejit; print([m for m in sys.modules if m.startswith('tracejit.pictures')])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
