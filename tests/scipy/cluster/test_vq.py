"""vq against SciPy's own."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.cluster.vq

import tracejit as tj
from tracejit.errors import ShapeError
from tracejit.scipy.cluster.vq import vq


def test_as_scipy() -> None:
    rng = np.random.default_rng(0)
    for shape in ((20, 3), (20,)):
        x = rng.normal(size=shape)
        for ours, want in zip(tj.jit(vq)(x, x[:5]), scipy.cluster.vq.vq(x, x[:5]), strict=True):
            np.testing.assert_allclose(ours, want, atol=1e-15)
    with pytest.raises(ShapeError, match="do not fit"):
        vq(np.ones((3, 2)), np.ones((3, 4)))
