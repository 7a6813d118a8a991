"""Vector loads and stores in PTX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.lowering.cuda.lowering import lowered
from tracejit.lowering.cuda.kernels import ptx_of

LONG = 1 << 20


def loads(text: str, kind: str) -> int:
    """The vector loads or stores in PTX."""
    return text.count(f"{kind}.global.v2.b64") + text.count(f"{kind}.global.v4.b32")


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int8])
def test_pointwise_kernels_move_16_bytes(dtype: Any) -> None:
    text = ptx_of(lowered(lambda x: x + x, np.zeros(LONG, dtype)))
    wide = 3 if np.dtype(dtype).itemsize >= 2 else 0  # two groups, then one
    assert loads(text, "ld") >= wide and loads(text, "st") >= wide
    if not wide:
        assert "ld.global.b64" in text or "ld.global.v2.b32" in text, "8 bytes"


def test_sums_have_several_loads_under_way() -> None:
    text = ptx_of(lowered(np.sum, np.zeros(LONG)))
    lines = [x.strip() for x in text.splitlines()]
    at = next(n for n, x in enumerate(lines) if x.startswith("ld.global.v2.b64"))
    assert all(x.startswith("ld.global.v2.b64") for x in lines[at : at + 4])
    assert "ld.local" not in text and "st.local" not in text


def test_rows_whose_length_is_even() -> None:
    f = lambda x: x - x.max(1, keepdims=True)
    text = ptx_of(lowered(f, np.zeros((100, 1000))))
    assert loads(text, "ld") >= 4 and loads(text, "st") >= 2
    assert loads(ptx_of(lowered(f, np.zeros((100, 1001)))), "ld") == 0
