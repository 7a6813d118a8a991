"""Jitted functions against the plain ones."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj
from tracejit import tree


def agree(f: Callable[..., Any], *args: Any) -> None:
    """Results, their types, and the arguments afterwards."""
    mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
    want, got = f(*theirs), tj.jit(f)(*mine)
    assert tree.structure(got) == tree.structure(want)
    for g, w in zip(tree.leaves((got, mine)), tree.leaves((want, theirs)), strict=True):
        assert np.asarray(g).dtype == np.asarray(w).dtype and np.shape(g) == np.shape(w)
        np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-12)
