"""Random programs (`tests/fuzz`) by both targets: the same bits.

Each runs with its own arguments and with others, of which the numbers are edge values. `make test-all` has 10^5 of
them, in processes that end with their chunk, since Numba keeps some of what it has compiled.
"""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import warnings
import zlib

import numpy as np
import pytest

from tests.fuzz.grammar import program
from tests.fuzz.spellings import Traced
from tests.lowering.printing import check_function
from tests.test_programs_random import in_a_child
from tracejit.errors import NotPrintableError

CHUNK = 1000
#: Most statements of the programs, in turn. Small ones compile in a tenth of a second, large ones in half a second.
SIZES = (2, 3, 2, 2, 2, 3, 2, 2, 4, 2, 2, 3, 2, 2, 5, 2, 3, 2, 2, 8)
EDGES = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 1e300, -1.5, 2.0, 0.75, -3e-5, 17.0, 1e18, -2.5e9]
)


def others(x: np.ndarray) -> np.ndarray:
    """Other arguments of the type of `x`."""
    rng = np.random.default_rng(zlib.crc32(x.tobytes()))
    with np.errstate(all="ignore"):
        if x.dtype.kind == "f":
            return np.asarray(rng.choice(EDGES, x.shape)).astype(x.dtype)
        if x.dtype.kind == "c":
            return np.asarray(rng.choice(EDGES, x.shape) + 1j * rng.choice(EDGES, x.shape)).astype(x.dtype)
        if x.dtype.kind == "b":
            return ~x
        return np.asarray(
            rng.integers(-4 if x.dtype.kind == "i" else 0, 9, x.shape), x.dtype
        )  # also bad indices


def problem(seed: int, size: int) -> str:
    """What is different, '' if nothing is."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numbers that overflow
        inputs, f = program(seed, size).load(Traced())
        try:
            check_function(f, *inputs(), quickly=True, others=others)
        except NotPrintableError:
            return ""
        except Exception as e:
            return f"program({seed}, {size}): {type(e).__name__}: {str(e)[:2000]}"
    return ""


def problems(first: int, count: int) -> list[str]:
    found = [problem(seed, SIZES[seed % len(SIZES)]) for seed in range(first, first + count)]
    return [p for p in found if p]


@pytest.mark.parametrize(("seed", "size"), [(1, 4), (65582, 2)])  # the second has a loop that threads share
def test_a_random_program(seed: int, size: int) -> None:
    assert not problem(seed, size)


@pytest.mark.exhaustive
@pytest.mark.timeout(7200)  # a chunk takes three minutes of the processor, which others may use as well
def test_many_random_programs(printed_chunk: range, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "NUMBA_OPT", "0"
    )  # half of LLVM's time; strict arithmetic has the same bits at each level
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, context, initializer=in_a_child) as pool:
        found = pool.submit(problems, printed_chunk.start, len(printed_chunk)).result()
    assert not found, "\n\n".join(found)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "printed_chunk" in metafunc.fixturenames:
        first, end = map(int, str(metafunc.config.getoption("--printed")).split(":"))
        chunks = [range(n, min(n + CHUNK, end)) for n in range(first, end, CHUNK)]
        metafunc.parametrize("printed_chunk", chunks, ids=lambda c: f"{c.start}-{c.stop}")
