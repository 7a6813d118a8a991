"""Wynn's epsilon algorithm against limits that are known."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.scipy.integrating import extrapolation
from tracejit.tracing import to_raw

N = np.arange(30)
#: Sums, their limit.
SERIES = {
    "alternating": (np.cumsum((-1.0) ** N / (N + 1)), np.log(2)),
    "geometric": (np.cumsum(0.9**N), 10.0),
    "three powers": (3 + 0.9**N - 2 * 0.7**N + 0.5**N, 3.0),
    "at once": (np.full(30, 1.25), 1.25),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", SERIES)
def test_limits(name: str) -> None:
    sums, limit = SERIES[name]

    def last(sums: np.ndarray) -> tuple[float, float]:
        table = extrapolation.begun(sums[0])
        for x in sums[1:16]:
            table, found, error = extrapolation.extended(table, x)
        return to_raw(found), to_raw(error)

    found, error = last(sums)
    assert abs(found - limit) <= max(error, 1e-13) < 1e-8
    slope = tj.jvp(lambda k: last(k * sums)[0], (1.0,), (1.0,))[1]
    np.testing.assert_allclose(slope, limit, rtol=1e-8)


def test_few_sums_have_no_error_yet() -> None:
    sums, _ = SERIES["alternating"]
    table = extrapolation.begun(sums[0])
    errors = []
    for x in sums[1:7]:
        table, _, error = extrapolation.extended(table, x)
        errors.append(float(error))
    assert np.isinf(errors[:4]).all() and np.isfinite(errors[4:]).all()
