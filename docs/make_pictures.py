"""python -m docs.make_pictures: the pictures that README shows, in docs/pictures/."""

from __future__ import annotations

import runpy
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import tracejit as tj
from docs.building import plots

PICTURES = Path(__file__).parent / "pictures"


#: The program that README shows, as a file, so that its boxes have the lines that a reader sees.
LOSS = """import numpy as np
import tracejit as tj


def loss(w, x, y):
    predicted = np.tanh(x @ w)
    error = predicted - y
    return np.mean(error**2)
"""


def graph() -> Path:
    """The program of a value and its gradient, and (in docs/pictures.md) how it is compiled."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "loss.py")
        path.write_text(LOSS, encoding="utf-8")
        loss = runpy.run_path(str(path))["loss"]
        picture = tj.draw(tj.value_and_grad(loss), graphviz=False)(
            np.ones(3), np.ones((100, 3)), np.ones(100)
        )
        picture.save(PICTURES / "graph.svg")
        compiled = picture.at("compiled")
        compiled.save(PICTURES / "graph-compiled.svg")
        (PICTURES / "graph-memory.svg").write_text(compiled.memory(), encoding="utf-8")
    return PICTURES / "graph.svg"


def wasteful(x: Any) -> Any:
    """A program of which the passes leave little (in docs/pictures.md)."""
    y = np.sin(x) * 1.0
    return y + np.sin(x)


def stages() -> Path:
    """What a pass did, marked in its stage."""
    picture = tj.draw(wasteful, stage="simplify", graphviz=False)(np.ones(3))
    picture.save(PICTURES / "graph-stage.png")
    return PICTURES / "graph-stage.png"


def training(w: Any, x: Any, y: Any) -> Any:
    """Steps of gradient descent, to be differentiated."""
    for _ in range(20):
        z = np.tanh(x @ w)
        w = w - 0.1 * x.T @ (z - y)
    return np.mean((np.tanh(x @ w) - y) ** 2)


def loops() -> Path:
    """The gradient of a loop: the two loops, and what the first one keeps for the second."""
    picture = tj.draw(tj.grad(training), stage="compiled", graphviz=False)
    picture(np.ones(3), np.ones((100, 3)), np.ones(100)).save(PICTURES / "graph-loop.svg")
    return PICTURES / "graph-loop.svg"


def speed() -> Path:
    """The summary of the committed results of the benchmarks."""
    path = PICTURES / "speed.svg"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(plots.svg(plots.summary, plots.results()))
    return path


def main() -> None:
    """Make all of them."""
    print(graph(), stages(), loops(), sep="\n")
    print(speed())


if __name__ == "__main__":
    main()
