"""What can be drawn: programs of every kind, at every stage."""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from examples.programs import PROGRAMS
from tracejit import errors
from tracejit.pictures.layout import Drawing


def _overlaps(drawing: Drawing) -> list[Any]:
    """Pairs of boxes that lie on each other."""
    found = []
    for n, a in enumerate(drawing.boxes):
        for b in drawing.boxes[:n]:
            across = abs(a.x - b.x) + 0.5 >= (a.width + b.width) / 2
            down = abs(a.y - b.y) + 0.5 >= (a.height + b.height) / 2
            found += [] if across or down else [(a.lines, b.lines)]
        for panel in a.panels:
            found += _overlaps(panel.drawing)
    return found


def _draw(f: Any, *args: Any, **options: Any) -> None:
    lowered = tj.jit(f, fallback=False, **options).lower(*args)
    for stage in ("traced", "compiled"):
        picture = lowered.draw(stage)
        ids = [n.id for n in picture.graph.walk()]
        assert len(ids) == len(set(ids)) and not _overlaps(picture.drawing)
        ET.fromstring(picture.svg())
        assert picture.as_dict() and picture.dot()


@pytest.mark.parametrize("name", ["haar_wavelet", "tracking", "jacobi_2d"])
def test_programs(name: str) -> None:
    p = PROGRAMS[name]
    _draw(p.f, *p.make(np.random.default_rng(0), p.size), static_argnums=p.static)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_all_programs(name: str) -> None:
    p = PROGRAMS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FallbackWarning)
        _draw(p.f, *p.make(np.random.default_rng(0), p.size), static_argnums=p.static)


def test_what_is_no_function_and_what_python_runs() -> None:
    with pytest.raises(errors.FunctionNeededError):
        tj.draw(3)  # type: ignore[arg-type]
    with tj.config.override(fallback=True):
        report = tj.explain(lambda x: open("log.txt", "a").write(f"{x}"))(1.0)  # noqa: SIM115
        with pytest.raises(errors.PictureProgramError, match="since Python runs it"):
            report.draw()


def test_functions_that_are_jitted_and_batched() -> None:
    x = np.ones((4, 3))
    f = tj.jit(lambda x: np.sum(np.tanh(x) ** 2))
    for g in (f, tj.vmap(f), tj.vmap(tj.grad(f)), tj.hessian(f), lambda x: tj.jvp(f, (x,), (x,))):
        _draw(g, x)
