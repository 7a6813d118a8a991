"""python -m docs.screens: pictures of pages in a browser, and of what was measured, in docs/pictures/.

`make docs` makes the pictures that are the same on every machine (`docs.make_pictures`). Those that this file makes are
not: they need Chromium, have times of the machine, and those of the site need a site (`make docs` first). So they are
made by hand where a page has changed, and looked at.
"""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import tracejit as tj

PICTURES = Path(__file__).parent / "pictures"
SITE = Path(__file__).parents[1] / "build/docs/html"
#: Pages of the site: name of the picture -> page, and the height of the window.
PAGES = {
    "site-tutorial": ("docs/tutorial/2-look.html", 1100),
    "site-gallery": ("docs/gallery/index.html", 1100),
    "site-reference": ("docs/reference/tracejit-derivatives.html", 1100),
}


def browser() -> str:
    """The browser's program. Raises SystemExit where there is none."""
    for name in ("chromium", "google-chrome", "chromium-browser"):
        if found := shutil.which(name):
            return found
    raise SystemExit("there is no Chromium: apt-get install chromium")


def shoot(page: Path, name: str, width: int = 1400, height: int = 900, dark: bool = False) -> Path:
    """A picture of a page, as a window of this size shows it."""
    path = PICTURES / f"{name}.png"
    command = [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--window-size={width},{height}", "--virtual-time-budget=4000", f"--screenshot={path}"]
    command += ["--blink-settings=preferredColorScheme=0"] if dark else []
    subprocess.run([*command, page.as_uri()], check=True, capture_output=True, timeout=120)
    return path


#: What is drawn and measured: a file of its own, since pages show its path and lines.
PROGRAM = """import numpy as np


def train(w, x, y):
    for _ in range(300):
        z = np.tanh(x @ w)
        w = w - 0.01 * (x.T @ (z - y))
    return np.abs(z - y).mean()
"""


def programs(folder: Path) -> list[Path]:
    """The page of a compiled program, light and dark, the page of a profile, and its roofline."""
    (folder / "train.py").write_text(PROGRAM, encoding="utf-8")
    train = runpy.run_path(str(folder / "train.py"))["train"]
    rng = np.random.default_rng(0)
    w, x, y = rng.normal(size=(50, 20)), rng.normal(size=(200, 50)), rng.normal(size=(200, 20))
    tj.draw(tj.grad(train), stage="compiled", graphviz=False)(w, x, y).save(folder / "page.html")
    step = tj.jit(train)
    with tj.profile() as p:
        for _ in range(5):
            step(w, x, y)
    p.save(folder / "profile.html")
    p.roofline().save(PICTURES / "roofline.svg")
    made = [shoot(folder / "page.html", "page"), shoot(folder / "page.html", "page-dark", dark=True)]
    return [*made, shoot(folder / "profile.html", "profile", height=1750)]


def main() -> None:
    """Make all of them."""
    if os.environ.pop("OPENBLAS_CORETYPE", None):  # NumPy has loaded a slower BLAS by it
        os.execv(sys.executable, [sys.executable, "-m", "docs.screens"])
    with tempfile.TemporaryDirectory() as folder:
        print(*programs(Path(folder)), sep="\n")
    for name, (page, height) in PAGES.items():
        if (SITE / page).is_file():
            print(shoot(SITE / page, name, height=height))


if __name__ == "__main__":
    main()
