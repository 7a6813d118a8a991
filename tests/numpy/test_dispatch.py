"""Python's own messages about a call name NumPy's function."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj


@pytest.mark.parametrize("name", ["sum", "max", "cumsum", "stack"])
def test_unknown_keywords(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'foo'"):
        tj.jit(lambda x: getattr(np, name)(x, foo=1))(np.ones(3))
