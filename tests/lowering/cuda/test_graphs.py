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
from tracejit.lowering.cuda.graphs import FEWEST, Graph
from tracejit.lowering.cuda.running import DeviceProgram

X = np.linspace(-1, 1, 40_000)


def relax(x):
    return lax.fori_loop(0, 5, lambda _, c: np.tanh(np.roll(c, 1)) * 0.5 + c * c.mean(), x)


def of(f: Any, *args: Any) -> DeviceProgram:
    return DeviceProgram(lowered(f, *args), first())


def test_a_call_with_known_addresses_is_one_graph() -> None:
    program = of(relax, X)
    on = program.device
    (graph,) = program.steps
    assert program.describe()[0].startswith("a graph, where an earlier run had the same addresses")
    given = [on.array(X * k) for k in (1, 2, 3)]
    for _ in range(5):
        for k, x in enumerate(given):
            (out,) = program(x)
            np.testing.assert_allclose(out.get(), relax(X * (k + 1)), rtol=1e-11)
            del out
    made = [g for g in graph._known.values() if g is not None]
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
    assert program.plan.fallible and isinstance(program.steps[0], Graph)
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
        lambda x: np.tanh(np.sort(np.tanh(x))),  # a library between two
        lambda x: lax.while_loop(lambda c: c[0] < 1, lambda c: np.roll(c, 1) + 1, x),  # a condition
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
        act(0)
        return None if self.fails else act


def kept(device: Device, monkeypatch: pytest.MonkeyPatch) -> Graph:
    monkeypatch.setattr(graphs, "launches", lambda steps: FEWEST)
    return Graph([], device)


def test_the_second_time_is_recorded_and_few_sets_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    found = kept(device := Device(), monkeypatch)
    act = lambda stream: None
    for key in range(5):
        assert found.of((key,), act) is None
    assert found.of((3,), act) is found.of((3,), act) is not None and device.recordings == 1
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


def many(x):
    """As `relax`, written out."""
    for _ in range(7):
        x = np.tanh(np.roll(x, 1)) * 0.5 + x * x.mean()
    return x


PARTS: dict[str, Any] = {
    "before and after a library": (lambda x: many(np.sort(many(x))), 2),
    "after the host": (lambda x: many(tj.pure_callback(np.sort, x, x)), 1),
    "in a loop whose condition the host reads": (
        lambda x: lax.while_loop(lambda c: c[0] < 50, lambda c: many(np.cos(c)) + c[0] + 1, x), 1,
    ),
}  # fmt: skip


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", PARTS)
def test_parts_between_what_the_host_does_are_graphs(name: str) -> None:
    f, count = PARTS[name]
    program = of(f, X)
    graphs = list(program.given)
    assert len(graphs) == count and str(program.describe()).count("a graph, where") == count
    x = program.device.array(X)
    for k in range(1, 6):
        x.set(X * k)
        (out,) = program(x)
        want = tj.jit(f)(X * k)
        np.testing.assert_allclose(out.get(), want, rtol=1e-10)
        del out
    if SETTING == "emulate":
        assert all(any(g._known.values()) for g in graphs)


def test_pointers_are_where_a_graph_leaves_them() -> None:
    """A loop whose arrays take turns an odd number of times, between two sorts."""

    def f(x):
        y = lax.fori_loop(0, 7, lambda _, c: np.roll(c, 1) * 0.5 + c, np.sort(x))
        return np.sort(y)

    program = of(f, X)
    x = program.device.array(X)
    for k in range(1, 6):
        x.set(X * k)
        np.testing.assert_allclose(program(x)[0].get(), f(X * k), rtol=1e-12)
