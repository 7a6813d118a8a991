"""Threads of blocks and blocks of grids, by what a processor has room for: the numbers of NVIDIA's occupancy calculator
(`cuda_occupancy.h` of CUDA 13), and choices that were made by hand from them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import ROOM, lowered
from tracejit.lowering.cuda import emulated, planner
from tracejit.lowering.cuda.kernels import module_text
from tracejit.lowering.cuda.nodes import Kernel
from tracejit.lowering.cuda.planner import fragments, plan
from tracejit.lowering.cuda.running import DeviceProgram, blocks_of
from tracejit.lowering.cuda.sharing.occupancy import choose, occupancy, resident, room_of, shared_bytes

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("cc", "registers", "shared", "threads", "blocks"),
    [
        ((9, 0), 32, 0, 256, 8),  # 64 warps
        ((9, 0), 33, 0, 256, 6),  # 40 registers a thread, 1280 a warp: 12 warps of each of four parts
        ((9, 0), 48, 0, 256, 5),  # 10 warps of each part, 40 in all
        ((9, 0), 48, 0, 64, 20),
        ((9, 0), 80, 48288, 192, 4),  # as many by registers as by shared memory: 24 warps
        ((9, 0), 77, 24144, 96, 8),  # by shared memory 9
        ((9, 0), 16, 0, 32, 32),  # half of the warps: there are no more blocks
        ((9, 0), 255, 0, 512, 0),  # 8 warps of 16
        ((8, 0), 16, 48 << 10, 128, 3),  # 49 KiB each of 164
        ((8, 6), 32, 0, 64, 16),  # two thirds of the warps
        ((8, 6), 32, 0, 128, 12),
        ((8, 9), 40, 8304, 256, 6),
        ((7, 5), 40, 0, 256, 4),
        ((7, 5), 79, 48288, 192, 1),
        ((7, 5), 79, 32192, 128, 2),
        ((12, 0), 128, 0, 256, 2),
        ((10, 3), 33, 0, 256, 6),  # as (10, 0)
        ((13, 0), 32, 0, 256, 6),  # as (12, 0)
    ],
)
def test_blocks_of_a_processor(
    cc: tuple[int, int], registers: int, shared: int, threads: int, blocks: int
) -> None:
    assert resident(room_of(cc), registers, shared, threads) == blocks


def test_occupancy() -> None:
    assert occupancy(ROOM, 33, 0, 256) == 75 and occupancy(ROOM, 128, 0, 256) == 25
    assert occupancy(ROOM, 16, 0, 32) == 50 and occupancy(room_of((8, 0)), 16, 48 << 10, 128) == 18


def chosen(cc: tuple[int, int], processors: int, registers: int, **kernel: Any) -> Kernel:
    k = Kernel("k", "threads", [], **kernel)
    choose([(k, [])], False, room_of(cc, processors), {"k": registers})
    return k


def test_threads_of_a_loop() -> None:
    """What a kernel has stays, unless another number is better."""
    large = 1 << 27
    assert chosen((9, 0), 132, 40, size=large, threads=256).threads == 256
    assert chosen((9, 0), 132, 48, size=large, threads=256).threads == 256, "40 warps each"
    assert chosen((9, 0), 132, 72, size=large, threads=256).threads == 128, "28 warps rather than 24"
    assert chosen((8, 6), 84, 32, size=large, threads=64).threads == 256, "16 blocks are 32 of 48 warps"
    assert chosen((9, 0), 132, 40, size=5000, threads=256).threads == 64, "as many processors as there can be"
    assert chosen((9, 0), 132, 40, size=40_000, threads=256).threads == 64, (
        "two blocks of some, one of others"
    )
    assert chosen((9, 0), 132, 40, size=132 * 256, threads=256).threads == 256, "one block each"


def test_blocks_of_a_grid() -> None:
    """As many as all processors have room for, four times."""
    k = chosen((9, 0), 132, 40, size=1 << 27, threads=256)
    assert k.most == 6 * 132 * 4 == blocks_of(k)
    assert blocks_of(chosen((7, 5), 40, 40, size=1 << 27, threads=256)) == 4 * 40 * 4
    assert blocks_of(chosen((9, 0), 132, 40, size=1000, threads=256)) == 16, "of 64 threads"


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def test_warps_that_are_launched_as_one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of 8 KB in shared memory: six in 48 KB, of which a processor of 64 KB has room for one block."""
    monkeypatch.setattr(planner, "keep", lambda kernel, facts: False)
    found = {}
    for cc in ((9, 0), (8, 0), (7, 5), (12, 0)):
        found[cc] = plan(lowered(softmax, np.zeros((4096, 1000))), room_of(cc))[0].kernels[0].warps
    # 24 (27 by shared memory alone), 18 of 20, 8 rather than 6, and 12 warps of a processor
    assert found == {(9, 0): 6, (8, 0): 6, (7, 5): 4, (12, 0): 6}


x = RNG.normal(size=(2100, 70))
PROGRAMS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "pointwise": (lambda x: np.exp(x) * 2 + x, (x,)),
    "rows": (softmax, (x,)),
    "sum": (np.sum, (x,)),
    "lanes": (lambda x: tj.vmap(lambda r: tj.lax.scan(lambda c, v: (c * 0.5 + v, c), 0.0, r))(x), (x,)),
    "checked": (lambda x, i: x[i] * 2, (x, RNG.integers(0, 2100, 5000))),
    "places": (lambda x, i: np.add.at(x, i, x[0]), (x, RNG.integers(0, 2100, 20_000))),
}


@pytest.fixture
def rooms() -> Iterator[Any]:
    device = emulated.DEVICES[0]
    before = device.room
    yield lambda cc, processors: setattr(device, "room", room_of(cc, processors))
    device.room = before


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_the_same_on_every_card(name: str, rooms: Any) -> None:
    f, args = PROGRAMS[name]
    found = []
    for cc, processors in (((9, 0), 132), ((7, 5), 1), ((8, 6), 40), ((12, 0), 170)):
        rooms(cc, processors)
        with tj.config.override(cuda="emulate"):
            on = [tj.device_put(a, "cuda") for a in args]
            found.append(tj.tree.leaves(tj.device_get([tj.jit(lambda *a: f(*a), device="cuda")(*on), on])))
    for other in found[1:]:
        for a, b in zip(other, found[0], strict=True):
            np.testing.assert_array_equal(a, b)


def test_the_shared_memory_that_is_counted_is_what_kernels_have() -> None:
    """Or what LLVM is given, which may find that some words are not needed."""
    for f, shape in ((softmax, (1000, 1000)), (softmax, (4096, 300)), (np.sum, (1 << 20,))):
        low = lowered(f, np.zeros(shape))
        made, facts = plan(low, ROOM)
        text, _ = module_text(low.program, facts, made, "card")
        for k in made.kernels:
            has = re.findall(rf"@{k.name}\.(?:shared|near) = .* \[(\d+) x i(\d+)\]", text)
            bytes_ = sum(int(n) * int(bits) // 8 for n, bits in has)
            assert bytes_ == shared_bytes(k, fragments(k.items), made.fallible), k.name


def test_kernels_are_written_again_where_registers_ask_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    device, loads = emulated.Emulated(), list[str]()
    load = device.load
    monkeypatch.setattr(device, "room", room_of((8, 6), 1))
    monkeypatch.setattr(device, "load", lambda text, *rest: loads.append(text) or load(text, *rest))
    monkeypatch.setattr(device, "registers", lambda kernels: dict.fromkeys(kernels, 72))
    data = RNG.normal(size=(70_000, 3))
    program = DeviceProgram(lowered(lambda x: np.exp(x) * 2 + x, data), device)
    # 40 registers: 48 warps, 6 blocks of 256. 72: 28 warps, 7 of 128 threads, three of 256
    assert [k.threads for k in program.plan.kernels] == [128] and len(loads) == 2 and loads[0] != loads[1]
    np.testing.assert_array_equal(
        program(device.array(data))[0].get(), tj.jit(lambda x: np.exp(x) * 2 + x)(data)
    )
