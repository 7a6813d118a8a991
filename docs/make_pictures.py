"""python -m docs.make_pictures: the pictures that README shows, in docs/pictures/."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import tracejit as tj
from docs.building import plots

PICTURES = Path(__file__).parent / "pictures"


def loss(w: Any, x: Any, y: Any) -> Any:
    """The program that README shows."""
    predicted = np.tanh(x @ w)
    error = predicted - y
    return np.mean(error**2)


def graph() -> Path:
    """The program of a value and its gradient, and (in docs/pictures.md) how it is compiled."""
    PICTURES.mkdir(exist_ok=True)
    picture = tj.draw(tj.value_and_grad(loss), graphviz=False)(np.ones(3), np.ones((100, 3)), np.ones(100))
    picture.save(PICTURES / "graph.svg")
    compiled = picture.at("compiled")
    compiled.save(PICTURES / "graph-compiled.svg")
    (PICTURES / "graph-memory.svg").write_text(compiled.memory(), encoding="utf-8")
    return PICTURES / "graph.svg"


def speed() -> Path:
    """The summary of the committed results of the benchmarks."""
    path = PICTURES / "speed.svg"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(plots.svg(plots.summary, plots.results()))
    return path


def main() -> None:
    """Make all of them."""
    print(graph())
    print(speed())


if __name__ == "__main__":
    main()
