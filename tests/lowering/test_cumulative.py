"""Running reductions: where they begin."""

from __future__ import annotations

import numpy as np
import pytest

from tests.lowering.running import check, native, trace
from tracejit import ops


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_cumulative_starts_with_the_element_itself(axis, reverse):
    (zeros,) = native(
        trace(lambda x: ops.cumulative.cumsum(x, axis=axis, reverse=reverse), np.zeros((2, 2))),
        np.full((2, 2), -0.0),
    )
    assert np.signbit(zeros).all()
    z = np.full((2, 2), complex(np.inf, 0.0))
    with np.errstate(all="ignore"):
        check(lambda x: ops.cumulative.cumprod(x, axis=axis, reverse=reverse), z)
