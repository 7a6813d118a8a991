"""Cases of searching: the largest elements, places in sorted vectors; reductions by exclusive or."""

from __future__ import annotations

import numpy as np

from tests.cases.makers import Case, booleans, by_name, case, distinct, integers, normal

CASES: dict[str, list[Case]] = {
    "top_k": [
        case(by_name("top_k", k=2), distinct(5)),
        case(by_name("top_k", k=3), distinct(2, 4)),
        case(by_name("top_k", k=0), distinct(3)),
        case(by_name("top_k", k=4), integers(3, 4)),
    ],
    "searchsorted": [
        case(
            by_name("searchsorted", side=side, batch_dims=0),
            lambda rng: np.sort(rng.normal(size=6)),
            normal(2, 3),
        )
        for side in ("left", "right")
    ]
    + [
        case(
            by_name("searchsorted", side="left", batch_dims=0),
            lambda rng: np.sort(rng.integers(0, 5, 7)),
            integers(),
        ),
        case(
            by_name("searchsorted", side="right", batch_dims=1),
            lambda rng: np.sort(rng.integers(0, 5, (3, 4))),
            integers(3, 2),
        ),
    ],
    "reduce_xor": [
        case(by_name("reduce_xor", axes=(1,)), integers(2, 3)),
        case(by_name("reduce_xor", axes=(0, 1)), booleans(3, 5)),
    ],
}
