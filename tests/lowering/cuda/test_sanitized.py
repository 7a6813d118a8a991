"""The sanitiser finds what is wrong with kernels that were broken on purpose, and nothing in those that were not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import lowered
from tests.test_rules import ALL, lifted
from tracejit.errors import DeviceAccessError
from tracejit.lowering.cuda import planner
from tracejit.lowering.cuda.facts import Facts
from tracejit.lowering.cuda.on_host import OnSanitized
from tracejit.lowering.cuda.running import DeviceProgram
from tracejit.lowering.cuda.sanitized import SANITIZED, Sanitized
from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.lowered import Lowered

ROWS = np.random.default_rng(0).normal(size=(5, 600))


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def run(program: Lowered, *args: np.ndarray) -> list[np.ndarray]:
    on = SANITIZED[0]
    return [x.get() for x in DeviceProgram(program, on)(*map(on.array, args))]


def built(write: Callable[[Builder, Any, Any], None], n: int = 4000) -> None:
    """Run a kernel over `n` iterations that was written by hand, from an array of 4000 elements into another."""
    k = Builder("broken")
    x, out = (k.buffer(name, np.dtype(float), 4000, "arg", i) for i, name in enumerate(("x", "out")))
    with k.loop(0, n, vector=True) as i:
        write(k, (x, out), i)
    on = SANITIZED[0]
    DeviceProgram(Lowered(k.program, [], [], [], [], {}), on)(
        on.array(np.ones(4000)), on.array(np.ones(4000))
    )


def test_a_right_kernel_is_right() -> None:
    np.testing.assert_allclose(run(lowered(softmax, ROWS), ROWS)[0], softmax(ROWS), rtol=1e-13)
    built(lambda k, b, i: k.store(b[1], i, k.load(b[0], i) * 2))


def test_accesses_outside_of_an_array() -> None:
    with pytest.raises(DeviceAccessError, match=r"k0, x: a thread reads outside of it"):
        built(lambda k, b, i: k.store(b[1], 0 * i + i, k.load(b[0], i + 1)))
    with pytest.raises(DeviceAccessError, match=r"k0, out: a thread writes outside of it"):
        built(lambda k, b, i: k.store(b[1], i - 1, k.load(b[0], i)))


def test_what_is_outside_is_not_touched() -> None:
    """An array that lies far away is neither read nor written, so that the process goes on."""
    with pytest.raises(DeviceAccessError, match="outside of it"):
        built(lambda k, b, i: k.store(b[1], i * 10**12, k.load(b[0], i * 10**12)))


def test_two_blocks_that_write_one_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Facts, "totals", lambda self, node: [])
    with pytest.raises(DeviceAccessError, match="k0, out: a thread writes what another block touches"):
        built(lambda k, b, i: k.store(b[1], i - i, k.load(b[0], i)))


def test_threads_that_write_what_others_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Facts, "totals", lambda self, node: [])
    with pytest.raises(DeviceAccessError, match="what another thread touches without a barrier"):
        built(lambda k, b, i: k.store(b[0], i, k.load(b[0], 3999 - i)))


def test_a_barrier_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OnSanitized, "barrier", lambda self: None)
    with pytest.raises(DeviceAccessError, match="without a barrier between them"):
        run(lowered(softmax, ROWS), ROWS)


def test_shared_memory_that_nothing_has_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OnSanitized, "put", lambda self, address, value, type_="i64": None)
    monkeypatch.setattr(
        OnSanitized,
        "for_",
        lambda self, c: [self.get(self.let("getelementptr inbounds i64, ptr %local, i64 9")), None][1],
    )
    with pytest.raises(
        DeviceAccessError, match="a word of a loop, branch or sum: a thread reads what nothing"
    ):
        run(lowered(softmax, ROWS), ROWS)


def test_memory_of_the_device_that_nothing_has_set() -> None:
    k = Builder("broken")
    x, out = (k.buffer(name, np.dtype(float), 4000, "arg", i) for i, name in enumerate(("x", "out")))
    with k.loop(0, 4000, vector=True) as i:
        k.store(out, i, k.load(x, i))
    on = SANITIZED[0]
    program = DeviceProgram(Lowered(k.program, [], [], [], [], {}), on)
    with pytest.raises(DeviceAccessError, match="k0, x: a thread reads what nothing has set"):
        program(on.empty((4000,), np.dtype(float)), on.array(np.ones(4000)))


@pytest.mark.parametrize("was", [0, 255])
def test_what_the_host_sets_is_set_whatever_was_there(was: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words that happen to have had the host's result before are no less set; others are set as well."""
    memory = Sanitized.memory

    def filled(self: Sanitized, size: int) -> Any:
        made = memory(self, size)
        made.bytes[:] = was
        return made

    def f(x, y, z):
        return np.fmod(x, y) + z

    monkeypatch.setattr(planner, "ALONE", 0)
    monkeypatch.setattr(Sanitized, "memory", filled)
    args = [np.float64(4), np.float64(2), np.arange(4000.0)]
    program = DeviceProgram(lowered(f, *args), on := SANITIZED[0])
    assert any("the host: c:fmod" in line for line in program.describe())
    got = program(*map(on.array, map(np.asarray, args)))
    np.testing.assert_array_equal(got[0].get(), f(*args))


def test_the_setting_makes_every_launch_looked_at() -> None:
    with tj.config.override(cuda="sanitize"):
        before = SANITIZED[0].accesses
        out = tj.jit(lambda x: np.cumsum(x) + x.sum(), device="cuda")(ROWS[0])
        np.testing.assert_allclose(tj.device_get(out), np.cumsum(ROWS[0]) + ROWS[0].sum(), rtol=1e-13)
        assert SANITIZED[0].accesses > before + 1200 and out.device is SANITIZED[0]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "n", [n if n % 60 == 7 else pytest.param(n, marks=pytest.mark.exhaustive) for n in range(len(ALL))]
)
def test_primitives_do_nothing_wrong(n: int) -> None:
    case = ALL[n].values[0]
    fn, args = lifted(case), case.args()  # type: ignore[arg-type, union-attr]
    with tj.config.override(cuda="sanitize"):
        tj.jit(fn, device="cuda", fallback=False)(*args)
