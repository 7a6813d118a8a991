"""Plans as graphs: what is recorded, for which addresses, and that results are those of launches one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import SETTING, first, lowered
from tracejit import lax
from tracejit.lowering.cuda import graphs
from tracejit.lowering.cuda.emulated import Emulated
from tracejit.lowering.cuda.graphs import FEWEST, Graphs
from tracejit.lowering.cuda.running import DeviceProgram

X = np.linspace(-1, 1, 40_000)


def relax(x):
    return lax.fori_loop(0, 5, lambda _, c: np.tanh(np.roll(c, 1)) * 0.5 + c * c.mean(), x)


def of(f: Any, *args: Any) -> DeviceProgram:
    return DeviceProgram(lowered(f, *args), first())


def test_a_call_with_known_addresses_is_one_graph() -> None:
    program = of(relax, X)
    on = program.device
    assert program.graphs.wanted and program.describe()[-1].startswith("launched as a whole by a graph")
    given = [on.array(X * k) for k in (1, 2, 3)]
    for _ in range(5):
        for k, x in enumerate(given):
            (out,) = program(x)
            np.testing.assert_allclose(out.get(), relax(X * (k + 1)), rtol=1e-11)
            del out
    made = [g for g in program.graphs._known.values() if g is not None]
    if SETTING == "emulate":
        assert made, "memory that was given back is taken again"


def test_what_a_graph_reads_is_what_lies_there_now() -> None:
    program = of(relax, X)
    x, seen = program.device.array(X), set()
    for k in range(1, 9):
        x.set(X * k)
        (out,) = program(x)
        seen.add(program.device.address(out))
        np.testing.assert_allclose(out.get(), relax(X * k), rtol=1e-11)
        del out
    assert len(seen) < 8 or SETTING != "emulate"


def test_checks_fail_as_without_a_graph() -> None:
    def f(x, i):
        for _ in range(7):
            x = np.roll(x[i], 1) + x.max()
        return x

    i = np.arange(40_000)[::-1].copy()
    program = of(f, X, i)
    on = program.device
    assert program.plan.fallible and program.graphs.wanted
    x, good, bad = on.array(X), on.array(i), on.array(i + 1)
    for _ in range(4):
        for _ in range(3):
            np.testing.assert_allclose(program(x, good)[0].get(), f(X, i), rtol=1e-12)
        with pytest.raises(IndexError, match="index 40000 is out of bounds"):
            program(x, bad)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.tanh(x) * 2,  # one launch
        lambda x: relax(np.sort(x)),  # a library
        lambda x: lax.while_loop(lambda c: c[0] < 1, lambda c: np.roll(c, 1) + 1, relax(x)),  # a condition
        lambda x: relax(tj.pure_callback(np.sort, x, x)),  # the host
    ],
)
def test_what_is_not_recorded(f: Any) -> None:
    with tj.config.override(cuda=SETTING):
        program = tj.jit(f, device="cuda").lower(X).compile()
    assert "graph" not in program.as_text("plan")


class Device:
    """What records, and notes it."""

    def __init__(self, fails: bool = False) -> None:
        self.recordings, self.fails = 0, fails

    def recorded(self, act: Any) -> Any:
        self.recordings += 1
        return None if self.fails else act


def kept(device: Device, monkeypatch: pytest.MonkeyPatch) -> Graphs:
    monkeypatch.setattr(graphs, "launches", lambda steps: FEWEST)
    return Graphs([], device)


def test_the_second_time_is_recorded_and_few_sets_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    found = kept(device := Device(), monkeypatch)
    act = lambda stream: None
    for key in range(5):
        assert found.of((key,), act) is None
    assert found.of((3,), act) is act and found.of((3,), act) is act and device.recordings == 1
    for key in range(100, 108):
        found.of((key,), act)
    assert len(found._known) == 8 and found.of((3,), act) is None, "it was given up for others"


def test_addresses_that_never_come_again_are_not_looked_up_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    found = kept(Device(), monkeypatch)
    for key in range(65):
        found.of((key,), lambda stream: None)
    assert not found.wanted


def test_what_cuda_does_not_record_is_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    found = kept(Device(fails=True), monkeypatch)
    assert found.of((1,), lambda stream: None) is None and found.wanted
    assert found.of((1,), lambda stream: None) is None and not found.wanted


def test_recording_runs_nothing() -> None:
    on, did = Emulated(), []
    assert on.recorded(did.append) is not None and did == [0] and on.launches == 0
