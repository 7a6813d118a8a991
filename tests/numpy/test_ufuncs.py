"""Ufuncs of traced arrays: what is theirs beyond values (tests/numpy/test_ufuncs_grid.py has those)."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy as tnp
from tracejit.errors import UnsupportedFunctionError


def test_the_namespace_has_every_ufunc() -> None:
    for name, ufunc in vars(np).items():
        if isinstance(ufunc, np.ufunc):
            assert ufunc in tnp.NUMPY_TO_TRACEJIT, name


def test_plain_operands_are_numpys() -> None:
    assert isinstance(tnp.add(np.ones(2), 1), np.ndarray)
    assert tnp.add.reduce(np.ones(3)) == 3.0
    assert tnp.add.outer([1, 2], [3]).tolist() == [[4], [5]]
    assert tnp.subtract.accumulate([3, 1]).tolist() == [3, 2]
    assert tnp.add.reduceat([1, 2, 3], [0, 2]).tolist() == [3, 3]
    x = np.zeros(2)
    tnp.add.at(x, [0, 0], 1.0)
    assert x.tolist() == [2.0, 0.0]
    assert tnp.add.identity == 0 and "add" in repr(tnp.add)


def test_made_ufuncs_are_refused() -> None:
    with pytest.raises(UnsupportedFunctionError):
        tj.jit(lambda x: np.frompyfunc(lambda v: v, 1, 1)(x))(np.ones(3))
