"""Memory over time: blocks that are needed at once share no byte."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.pictures.chart import chart
from tracejit.pictures.model import Memory


def loss(x: Any, w: Any) -> Any:
    h = np.tanh(x @ w)
    h = np.tanh(h @ w)
    return np.sum(np.tanh(h @ w) ** 2)


PICTURE = tj.draw(tj.grad(loss, 1), stage="compiled")(np.ones((40, 20)), np.ones((20, 20)))


def test_blocks_do_not_overlap_in_time_and_place() -> None:
    memory = PICTURE.graph.memory
    assert memory is not None
    blocks = [b for b in memory.blocks if b.offset is not None]
    assert len(blocks) > 3 and max(b.offset + b.bytes for b in blocks) <= memory.arena
    assert all(0 <= b.first <= b.last < len(memory.steps) for b in blocks)
    compiled = tj.jit(tj.grad(loss, 1)).lower(np.ones((40, 20)), np.ones((20, 20))).compile()
    assert memory.arena == compiled.memory_analysis()["arena_bytes"]


def test_steps_have_the_costs_of_the_nests() -> None:
    compiled = tj.jit(tj.grad(loss, 1)).lower(np.ones((40, 20)), np.ones((20, 20))).compile()
    costs, memory = compiled.cost_analysis(), PICTURE.graph.memory
    assert memory is not None
    assert sum(s.operations for s in memory.steps) == costs["flops"] + costs["transcendentals"]
    assert sum(s.moved for s in memory.steps) == costs["bytes accessed"]


def test_the_chart_is_xml_with_every_block() -> None:
    root = ET.fromstring(PICTURE.memory())
    titles = [t.text or "" for t in root.iter("{http://www.w3.org/2000/svg}title")]
    titles = [t for t in titles if not t.startswith("loop nest")]
    memory = PICTURE.graph.memory
    assert memory is not None
    assert len(titles) == sum(b.offset is not None for b in memory.blocks) and any("h" in t for t in titles)
    assert PICTURE.at("traced").memory() == ""


def test_a_program_without_memory() -> None:
    assert ET.fromstring(chart(Memory((), (), 0))).tag.endswith("svg")
