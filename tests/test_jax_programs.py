"""The programs of examples/from_jax, against what JAX 0.10 gave for the same programs."""

from __future__ import annotations

import numpy as np
import pytest

from examples.from_jax import chains, classifier, predators, processes, recurrent


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


@pytest.mark.exhaustive
def test_processes_and_recurrent_networks() -> None:
    losses, params, mean, _ = processes.run()
    assert np.isclose(losses[0], 22.674871423434617, rtol=1e-9) and np.isclose(
        losses[-1], -1.5058285454607194, rtol=1e-8
    )
    assert np.isclose(params["length"], 0.9829680972083358, rtol=1e-8)
    np.testing.assert_allclose(
        mean, [0.3364648, -0.12186698, -0.02545804, 0.15346918, -0.81585544], rtol=1e-6
    )
    losses, last = recurrent.run()
    want = [1.0723340202129796, 0.22878933297842868, 0.17880447776267192]
    np.testing.assert_allclose([losses[0], losses[10], losses[-1]], want, rtol=1e-9)
    assert np.isclose(last, 0.1735567357230931, rtol=1e-9)
