"""`make test-gpu`: the tests of programs on devices, on the card of this machine, or on the emulated device.

    python tools/gpu.py [arguments of pytest ...]

The first line says which. On a card all tests run, without one the samples of `make test`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import tracejit as tj

ROOT = Path(__file__).parents[1]
SUITES = ["tests/lowering/cuda", "tests/interpreters/jit_cuda", "tests/api/device"]


def card() -> tuple[Any, str]:
    """The first card, None if there is none, and why."""
    with tj.config.override(cuda="auto"):
        try:
            return tj.device_put(0.0, "cuda").device, ""
        except tj.errors.NoDeviceError as e:
            return None, str(e).splitlines()[0]


def main(arguments: list[str]) -> int:
    """Run the tests; the status is pytest's."""
    found, why = card()
    if found is None:
        said = (
            f"There is no card: {why}\nThe emulated device runs the tests. That proves nothing about a card."
        )
    else:
        said = f"On {found}, a card of compute capability {found.compute_capability}."
    print(said, flush=True)
    setting = dict(os.environ, GPU_TESTS="emulate" if found is None else "auto", OPENBLAS_NUM_THREADS="1")
    marks = ["-m", "not exhaustive"] if found is None else []
    status = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *marks, *SUITES, *arguments],
        cwd=ROOT,
        env=setting,
        check=False,
    ).returncode
    print(said)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
