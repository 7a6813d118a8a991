"""What items of a list have in common."""

from __future__ import annotations

import numpy as np

from tracejit.frontend.lists.items import common, items_of


def test_numbers_of_python_and_of_numpy_are_of_one_dtype() -> None:
    found = common([1.0, np.float64(2)])
    assert found is not None and found.kinds[0].python is None
    assert common([1.0, 2.0]).kinds[0].python is True  # type: ignore[union-attr]


def test_other_dtypes_and_structures_are_not_alike() -> None:
    assert common([1, 2.0]) is None and common([(1, 2), (1, 2, 3)]) is None and common([]) is None


def test_what_is_no_number_is_none() -> None:
    assert all(items_of(x) is None for x in ("a", [1], {}, (), None, 2**80, np.zeros(2), (1, "a")))


def test_integers_beyond_64_bits_are_no_numbers_of_a_column() -> None:
    for x, fits in ((2**63 - 1, True), (2**63, False), (-(2**63), True), (-(2**63) - 1, False)):
        assert (items_of(x) is not None) == fits
