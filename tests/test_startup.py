"""Importing the package leaves the garbage collector as it was."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from tracejit.startup import without_collection


@pytest.mark.parametrize(
    ("before", "after"),
    [("", "True 0"), ("gc.disable()", "False 0"), ("gc.collect(); gc.freeze()", "True some")],
)
def test_the_collector_is_as_before(before: str, after: str) -> None:
    code = f"import gc\n{before}\nimport tracejit\n"
    code += "print(gc.isenabled(), 'some' if gc.get_freeze_count() else 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == after


def test_also_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), without_collection():
        assert not gc.isenabled()
        1 / 0
    assert gc.isenabled()
