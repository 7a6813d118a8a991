"""Every ```python block of README.md runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.sources import compiled
from tracejit.ir.primitive import REGISTRY

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("n", range(len(BLOCKS)))
def test_block(n):
    known = dict(REGISTRY)
    # A file name of its own, so that tracebacks and recorded lines mean something.
    try:
        exec(compiled(BLOCKS[n], f"README.md[{n}]"), {"__name__": f"readme_{n}"})
    finally:  # primitives that a block defines are not ours
        for name in REGISTRY.keys() - known.keys():
            del REGISTRY[name]


def test_there_are_blocks():
    assert len(BLOCKS) >= 5
