"""An array made of a Python number is none to promotion."""

from __future__ import annotations

import numpy as np

import tracejit as tj


def test_arrays_of_python_numbers_promote_as_arrays() -> None:
    x = np.ones(3, np.float32)
    for f in (lambda x, a: x * np.array(a), lambda x, a: x * np.asarray(a), lambda x, a: x * np.copy(a)):
        assert tj.jit(f)(x, 2.0).dtype == f(x, 2.0).dtype == np.float64
    assert type(tj.jit(lambda n: np.asarray(n))(3)) is np.int64
