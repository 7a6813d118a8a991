"""`make test-gpu` and `make bench-gpu`: they say that there is no card, and run to their end on the emulated device."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tracejit as tj
from benchmarks.gpu import __main__ as bench
from benchmarks.gpu.workloads import WORKLOADS, Workload
from tools import gpu

_HAS_CARD = gpu.card()[0] is not None
no_card = pytest.mark.skipif(_HAS_CARD, reason="there is a card")


@no_card
def test_the_benchmark_runs_without_a_card_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench.main(["--only", "small call", "--output", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("There is no card: [TJ320]") and "say nothing about a card" in said
    facts = json.loads((tmp_path / "gpu.json").read_text())
    assert facts["card"] is None and facts["rows"][0]["launches"] == 1
    assert "There is no card" in (tmp_path / "gpu.md").read_text()


@no_card
def test_the_emulated_device_is_no_card() -> None:
    with tj.config.override(cuda="emulate"):
        assert bench.card()[0] == "" and "[TJ320]" in bench.card()[1]


def test_the_table_of_a_card_has_shares_and_peers() -> None:
    rows = [
        {"workload": "copy", "elements": 10, "bytes": 100.0, "seconds": {"tracejit": 2e-3}},
        {"workload": "sum", "elements": 10, "bytes": 50.0, "seconds": {"tracejit": 4e-3, "jax": 5e-3}},
    ]
    rows[0]["in a row"], rows[1]["in a row"] = {"tracejit": 2e-3}, {"tracejit": 1e-3, "jax": 3e-3}
    text = bench.table(rows, ["tracejit", "jax"], True)
    assert text.splitlines()[-1].endswith("| 4 / 1 | 5 / 3 | 100% | 3.00 |")


@no_card
def test_the_suites_run_without_a_card_and_it_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpu, "SUITES", ["tests/interpreters/jit_cuda"])
    assert gpu.main(["--collect-only", "-p", "no:cacheprovider"]) == 0
    assert capsys.readouterr().out.count("There is no card: [TJ320]") == 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("w", WORKLOADS, ids=lambda w: w.name)
def test_workloads_are_what_numpy_computes(w: Workload) -> None:
    arrays = w.make(np.random.default_rng(0), 1024)
    with tj.config.override(cuda="emulate"):
        got = tj.device_get(tj.jit(lambda *xs: w.body(np, *xs), device="cuda")(*arrays))
    tolerance = 1e-5 if arrays[0].dtype == np.float32 else 1e-12
    np.testing.assert_allclose(got, w.body(np, *arrays), rtol=tolerance, atol=tolerance)
