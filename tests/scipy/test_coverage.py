"""The page of SciPy's functions says what there is."""

from __future__ import annotations

from pathlib import Path

import pytest
import scipy

from tracejit.scipy import coverage

PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"


def test_the_page_is_true() -> None:
    text = PAGE.read_text()
    if f"for SciPy {scipy.__version__.rpartition('.')[0]}." not in text:
        pytest.skip("the page is for another version of SciPy")
    assert coverage.page() == text, "python -m tracejit coverage --markdown > docs/coverage.md"


def test_kinds() -> None:
    c = coverage.of("signal")
    assert {"convolve", "medfilt", "StateSpace"} <= set(c.native)
    assert "remez" in c.host and "ShortTimeFFT" in c.missing
    assert "tf2sos" in c.host and {"minimize", "root", "curve_fit"} <= set(coverage.of("optimize").native)
    assert "signal " in coverage.table()
