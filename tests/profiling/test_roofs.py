"""Rooflines: points from rows by hand, and the picture parsed."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import tracejit as tj
from tests.profiling.test_profile import operands, step
from tracejit.errors import ProfileSuffixError
from tracejit.interpreters.jit_speeds import Speeds, speeds
from tracejit.profiling.roofs import FUNCTION, Roofline
from tracejit.profiling.rows import Row

MACHINE = Speeds(1, 40e9, 20e9, 10e9, 100e9)


def row(kind, seconds, flops, moved, depth=2, **more):
    return Row(kind, f"{kind} f64[9]", "a.py", 3, "f", 10, 10 * seconds, 10 * seconds, *[seconds] * 4, depth=depth,
               flops=flops, moved=moved, **more)  # fmt: skip


def test_points_by_hand():
    large = row("nest", 1e-2, flops=2e7, moved=8e7)  # 2 Gop/s, 8 GB/s: memory allows 10
    small = row("nest", 1e-5, flops=5e4, moved=5e5)  # 50 GB/s of the cache's 100
    product = row("blas", 1e-3, flops=2e7, moved=1e5)  # 20 Gop/s of 40
    function = row("nest", 1e-4, flops=0, moved=1e5, functions=1e5)
    unknown = row("nest", 1, 1, 1, unknown=True)
    points = {p.row: p for p in Roofline([large, small, product, function, unknown], MACHINE).points}
    assert unknown not in points
    assert (points[large].limit, points[large].reached) == ("memory", pytest.approx(0.8))
    assert points[large].rate == pytest.approx(2e9) and points[large].intensity == pytest.approx(0.25)
    assert (points[small].limit, points[small].reached) == ("cache", pytest.approx(0.5))
    assert (points[product].limit, points[product].reached) == ("arithmetic", pytest.approx(0.5))
    assert points[function].rate == pytest.approx(FUNCTION * 1e9)


def test_a_run_that_was_held_up_does_not_count():
    held_up = Row(
        "nest", "nest f64[9]", "a.py", 3, "f", 10, 9.0, 9.0, 1e-3, 1e-3, 8.0, 8.9, flops=2e6, moved=1e6
    )
    assert Roofline([held_up], MACHINE).points[0].rate == pytest.approx(2e9)


def test_loops_with_rows_below_them_are_no_points():
    rows = [
        row("loop", 1, 1e6, 1e6),
        row("nest", 0.5, 1e6, 1e6, depth=3),
        row("nest", 0.1, 1e6, 1e6, depth=2),
    ]
    rows += [row("part", 0.1, 0, 0, depth=3)]
    assert [p.row for p in Roofline(rows, MACHINE).points] == [rows[1], rows[2]]


def test_the_picture_and_files(tmp_path):
    p = tj.profile(step)(*operands())
    roofline = Roofline(p.rows, MACHINE)
    assert "dot_general" in str(roofline) and "10 GB/s of memory" in str(roofline)
    root = ET.fromstring(roofline._repr_svg_())
    discs = [e for e in root.iter() if e.tag.endswith("circle")]
    assert len(discs) == len([q for q in roofline.points if q.rate > 0])
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert all(0 < float(d.attrib["cx"]) < width and 0 < float(d.attrib["cy"]) < height for d in discs)
    roofline.save(tmp_path / "r.svg")
    roofline.save(tmp_path / "r.txt")
    assert (tmp_path / "r.svg").read_text().startswith("<svg")
    with pytest.raises(ProfileSuffixError):
        roofline.save(tmp_path / "r.png")


def test_hand_counted_work():
    x = np.ones(100_000)
    p = tj.profile(lambda x: 2 * x + 1)(x)
    (nest,) = [r for r in p.rows if r.kind == "nest"]
    assert nest.flops == 2e5 and nest.moved == 1.6e6


def test_speeds_of_this_machine():
    with tj.config.override(num_threads=1):
        found = speeds()
        assert speeds() is found
    assert found.threads == 1 and found.fused >= found.plain > 1e8
    assert found.memory > 1e8 and found.cache > 1e8
