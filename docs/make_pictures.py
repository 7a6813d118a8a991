"""python -m docs.make_pictures: the pictures that README shows, in docs/pictures/."""

from __future__ import annotations

from pathlib import Path

from docs.building import plots

PICTURES = Path(__file__).parent / "pictures"


def speed() -> Path:
    """The summary of the committed results of the benchmarks."""
    path = PICTURES / "speed.svg"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(plots.svg(plots.summary, plots.results()))
    return path


def main() -> None:
    """Make all of them."""
    print(speed())


if __name__ == "__main__":
    main()
