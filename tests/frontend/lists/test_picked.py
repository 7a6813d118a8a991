"""Items of lists at traced positions."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
def test_unsigned_positions_and_ends_from_two_to_the_63_on() -> None:
    """They are no negative numbers: the item was the last one, and the range empty or elsewhere."""

    def item(k):
        return [1, 2, 3, 4][k]

    def total(n):
        return sum(range(n, n + np.uint64(3)))

    fast, summed = tj.jit(item, fallback=True), tj.jit(total, fallback=True)
    for k in (0, 3, 2**63, 2**64 - 1):
        try:
            want = item(np.uint64(k))
        except IndexError as e:
            with pytest.raises(IndexError, match=str(e)):
                fast(np.uint64(k))
        else:
            assert fast(np.uint64(k)) == want
    for n in (0, 5, 2**63, 2**63 + 5):
        assert summed(np.uint64(n)) == total(np.uint64(n))
