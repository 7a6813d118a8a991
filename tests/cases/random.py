"""Cases of random bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cases.makers import Case, Maker, by_name, case


def _words(*shape: int, dtype: Any) -> Maker:
    top = np.iinfo(dtype).max
    return lambda rng: rng.integers(0, top, shape, dtype=dtype, endpoint=True)


CASES: dict[str, list[Case]] = {
    "threefry2x32": [
        case(by_name("threefry2x32"), _words(dtype="u4"), _words(dtype="u4"), _words(2, 3, dtype="u8")),
        case(by_name("threefry2x32"), _words(3, dtype="u4"), _words(3, dtype="u4"), _words(3, dtype="u8")),
    ]
}
