"""Numbers of regions and nearest holes in compiled functions: SciPy's own, ties among holes included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import ndimage

import tracejit as tj

RNG = np.random.default_rng(0)


def same(f: Any, *args: Any) -> None:
    compiled = tj.jit(f)
    for a, b in zip(tj.tree.leaves(compiled(*args)), tj.tree.leaves(f(*args)), strict=True):
        assert type(a) is type(b) and np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_array_equal(a, b)
    assert "library_call" not in compiled.lower(*args).as_text("jaxpr")


MASKS = [RNG.random(shape) < share for shape in ((40,), (9, 11), (4, 5, 6)) for share in (0.3, 0.6, 0.9)]


@pytest.mark.sample(6)
@pytest.mark.parametrize("mask", MASKS, ids=lambda m: f"{m.ndim}-{m.mean():.1f}")
def test_regions(mask: np.ndarray) -> None:
    same(lambda m: ndimage.label(m), mask)
    same(lambda m: ndimage.label(m, np.ones((3,) * m.ndim), np.uint8), mask * 1.5)


@pytest.mark.sample(4)
@pytest.mark.parametrize("mask", MASKS, ids=lambda m: f"{m.ndim}-{m.mean():.1f}")
def test_nearest_holes(mask: np.ndarray) -> None:
    same(lambda m: ndimage.distance_transform_edt(m, return_indices=True), mask)
    scale = np.arange(1.0, mask.ndim + 1)
    same(lambda m: ndimage.distance_transform_edt(m, scale, return_indices=True), mask)


def test_edges() -> None:
    whole = np.ones((3, 4))
    same(lambda m: ndimage.distance_transform_edt(m, return_indices=True), whole)
    same(lambda m: ndimage.label(m), 0 * whole)
    rings = np.array([[1, 1, 1, 1], [1, 0, 0, 1], [1, 0, 1, 0], [1, 1, 1, 0]])
    same(lambda m: ndimage.label(m), rings)
    batch = np.stack([rings, rings.T, 1 - rings])

    def labelled(m: Any) -> Any:
        found: Any = ndimage.label(m)
        return found[0]

    many = tj.jit(tj.vmap(labelled))(batch)
    np.testing.assert_array_equal(many, [labelled(m) for m in batch])
