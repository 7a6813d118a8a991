"""The programs of examples/from_jax, against what JAX 0.10 gave for the same programs."""

from __future__ import annotations

import numpy as np
import pytest

from examples.from_jax import chains, classifier, predators


def test_shorter_runs() -> None:
    found = chains.main(draws=8, chains=4)
    np.testing.assert_allclose(found["mean"], CHAINS, rtol=1e-9)


#: Of eight states of four chains.
CHAINS = [1.112526996594572, -2.3261838575811598, 0.6191949023429026]


@pytest.mark.exhaustive
def test_whole_runs() -> None:
    found = classifier.main()
    assert np.isclose(found["first"], 0.5630630955153257, rtol=1e-9)
    assert np.isclose(found["last"], 0.020578308493193552, rtol=1e-6) and found["right"] == 1
    mean = chains.main()["mean"]
    np.testing.assert_allclose(mean, [1.0735141049495602, -2.2048060763905304, 0.6714942699044031], rtol=1e-9)
    fitted = predators.main()
    want = {"birth": 1.1039204558290032, "eaten": 0.40239343587916476, "gain": 0.24807020851804884}
    for name, rate in want.items():
        assert np.isclose(fitted["rates"][name], rate, rtol=1e-6)  # derivatives go through the steps
    assert np.isclose(fitted["squares"], 0.13586099021747872, rtol=1e-5)
