"""What ufuncs of traced arrays can't do is said in tracejit's words or NumPy's own."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import UnsupportedFunctionError


def test_reduceat_is_refused() -> None:
    with pytest.raises(UnsupportedFunctionError, match="reduceat"):
        tj.jit(lambda x: np.add.reduceat(x, [0, 2]))(np.ones(4))
