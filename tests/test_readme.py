"""Every ```python block of README.md runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks import readme
from benchmarks.ablation import page, rows
from benchmarks.ablation.mechanism import resolve
from benchmarks.ablation.mechanisms import MECHANISMS
from tests.sources import compiled
from tracejit.config import config
from tracejit.ir.primitive import REGISTRY

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.sample(2)
@pytest.mark.parametrize("n", range(len(BLOCKS)))
def test_block(n):
    known = dict(REGISTRY)
    # A file name of its own, so that tracebacks and recorded lines mean something.
    try:
        with config.override(fallback=True):  # as for a user
            exec(compiled(BLOCKS[n], f"README.md[{n}]"), {"__name__": f"readme_{n}"})
    finally:  # primitives that a block defines are not ours
        for name in REGISTRY.keys() - known.keys():
            del REGISTRY[name]


def test_there_are_blocks():
    assert len(BLOCKS) >= 5


def test_the_benchmarks_are_those_of_the_committed_results():
    text = README.read_text(encoding="utf-8")
    assert readme.updated(text, json.loads(readme.RESULTS.read_text())) == text


def test_the_table_of_mechanisms_names_what_is_there():
    """Places that are switched off, files whose lines are counted, and rows."""
    for m in MECHANISMS:
        assert m.promise and m.rows and page.lines_of(m.files) > 0
        for place in m.off:
            resolve(place)
        for row in m.rows:
            rows.find(row)
