"""What `ptxas` makes of kernels, where it is found: registers, shared memory, that nothing is spilled, and how many of
the threads that a processor has room for are there at a time.

It is looked for on PATH, and where the wheel `nvidia-cuda-nvcc` puts it. `pytest --update-golden` writes what it says.
Another version of `ptxas` may need some registers more.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.lowering.cuda.lowering import lowered
from tests.lowering.cuda.tiles.test_stencils import five
from tracejit.lowering.cuda.kernels import ptx_of
from tracejit.lowering.cuda.sharing.occupancy import occupancy, room_of

_WHEELS = [b for p in sys.path for b in Path(p).glob("nvidia/*/bin/ptxas")]
PTXAS = shutil.which("ptxas") or next(map(str, _WHEELS), None)
GOLDEN = Path(__file__).parents[2] / "golden" / "cuda.json"
MORE = 16  # registers that another version may need more
LESS = 25  # percent that these may cost


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def layernorm(x: Any) -> Any:
    c = x - x.mean(1, keepdims=True)
    return c / np.sqrt((c * c).mean(1, keepdims=True) + 1e-5)


LONG, ROWS = np.zeros(1 << 20), np.zeros((1000, 1000))
MANY = np.zeros((4096, 1000))
KERNELS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "copy": (lambda x: x.copy(), (LONG,)),
    "pointwise": (lambda x: np.exp(x) * 2 + x, (LONG,)),
    "pointwise of float32": (lambda x: np.tanh(x) * x, (LONG.astype(np.float32),)),
    "sum": (np.sum, (LONG,)),
    "position of the maximum": (np.argmax, (LONG,)),
    "maximum of rows": (lambda x: x.max(1), (ROWS,)),
    "softmax": (softmax, (ROWS,)),
    "layernorm": (layernorm, (ROWS,)),
    "maximum of many rows": (lambda x: x.max(1), (MANY,)),
    "softmax of many rows": (softmax, (MANY,)),
    "layernorm of many rows": (layernorm, (MANY,)),
    "layernorm of many rows of float32": (layernorm, (MANY.astype(np.float32),)),
    "transpose": (lambda x, y: x.T + y, (ROWS, ROWS)),
    "stencil": (five, (ROWS,)),
    "gather": (lambda x, i: x[i], (LONG, np.zeros(1 << 20, int))),
    "sums at places": (lambda z, i, x: np.add.at(z, i, x), (LONG[:1000], np.zeros(1 << 20, int), LONG)),
    "counts": (lambda z, i: np.add.at(z, i, 1), (np.zeros(1000, int), np.zeros(1 << 20, int))),
}


#: The compute capabilities that kernels are assembled for.
CCS = ((7, 5), (8, 0), (9, 0), (10, 0))


def needs(text: str, folder: Path, cc: tuple[int, int]) -> dict[str, list[int]]:
    """Of each kernel in PTX its registers, bytes of shared memory and of spills, and its occupancy."""
    path = folder / "kernels.ptx"
    path.write_text(text, encoding="utf-8")
    command = [str(PTXAS), "-v", f"-arch={name_of(cc)}", str(path), "-o", str(folder / "kernels.cubin")]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stderr
    found = {}
    for part in said.split("Compiling entry function ")[1:]:
        name = part.split("'")[1]
        counts = [
            re.search(p, part)
            for p in (r"Used (\d+) registers", r"(\d+) bytes smem", r"(\d+) bytes spill stores")
        ]
        registers, shared, spilled = (int(m[1]) if m else 0 for m in counts)
        threads = re.search(rf"{name}\(.*?\.reqntid (\d+)", text, re.DOTALL)
        assert threads is not None
        found[name] = [registers, shared, spilled, occupancy(room_of(cc), registers, shared, int(threads[1]))]
    return found


def name_of(cc: tuple[int, int]) -> str:
    """As `ptxas` calls a compute capability."""
    return f"sm_{cc[0]}{cc[1]}"


@pytest.mark.skipif(PTXAS is None, reason="there is no ptxas")
@pytest.mark.parametrize(
    "cc",
    [pytest.param(cc, marks=() if cc == (9, 0) else pytest.mark.exhaustive, id=name_of(cc)) for cc in CCS],
)
def test_registers_shared_memory_and_spills(
    cc: tuple[int, int], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    got = {name: needs(ptx_of(lowered(f, *args), cc), tmp_path, cc) for name, (f, args) in KERNELS.items()}
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    if request.config.getoption("--update-golden"):
        golden[name_of(cc)] = got
        parts = [
            f'"{c}": {{\n'
            + ",\n".join(f'  "{name}": {json.dumps(k)}' for name, k in golden[c].items())
            + "\n}"
            for c in map(name_of, CCS)
            if c in golden
        ]
        GOLDEN.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
    before = golden[name_of(cc)]
    assert {name: list(kernels) for name, kernels in got.items()} == {n: list(k) for n, k in before.items()}
    for name, kernels in before.items():
        for kernel, (registers, shared, spilled, busy) in kernels.items():
            now = got[name][kernel]
            assert now[0] <= registers + MORE, f"{name}, {kernel}: {now[0]} registers, {registers} before"
            most = spilled if "layernorm" in name and cc == (7, 5) else 0  # a few words of rows in registers
            assert now[1] == shared and now[2] <= most, f"{name}, {kernel}: shared memory, and spills"
            assert now[3] >= busy - LESS, f"{name}, {kernel}: {now[3]}% of the warps, {busy}% before"
