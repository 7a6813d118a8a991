"""Programs as people write them, and programs written to be nasty: jitted ones can't be told from plain ones."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.programs.observe import PROGRAMS, verdict

for _path in sorted(Path(__file__).parent.glob("corpus_*.py")):
    importlib.import_module(f"tests.programs.{_path.stem}")


@pytest.mark.sample(9)
@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_tells_them_apart(name: str) -> None:
    kind, why = verdict(PROGRAMS[name])
    assert kind in ("native", "fallback"), why
