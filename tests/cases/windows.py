"""Cases of convolutions, windows and Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.cases.makers import booleans, by_name, case, distinct, normal
from tracejit import ops
from tracejit.ops.convolution.conv import Config, ConvDimensionNumbers
from tracejit.ops.convolution.pooling import Pool
from tracejit.ops.convolution.sliding import Windows

NCHW = ConvDimensionNumbers((0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3))
NHWC = ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
NCW = ConvDimensionNumbers((0, 1, 2), (0, 1, 2), (0, 1, 2))


def _conv(config: Config) -> Callable[..., Any]:
    return lambda x, w: ops.conv.conv_general_dilated(x, w, config)


POOLS = [
    Pool((1, 3), (1, 2), ((0, 0), (1, 1)), (1, 1), (1, 1)),
    Pool((2, 2), (1, 1), ((1, 0), (-1, 1)), (1, 2), (1, 1)),
    Pool((2, 3), (2, 1), ((0, 1), (2, 2)), (2, 1), (1, 2)),
    Pool((5, 7), (1, 2), ((2, 2), (3, 3)), (1, 1), (1, 1)),
]


def _choose(name: str, which: str, pool: Pool) -> Callable[..., Any]:
    return by_name(name, select=which, pool=pool)


def _count(shape: tuple[int, ...], pool: Pool) -> tuple[int, ...]:
    return ops.pooling.reduce_window_sum(np.zeros(shape), pool).shape


CASES = {
    "fft": [
        case(by_name("fft", axes=(1,), norm="backward"), normal(2, 5, dtype=complex)),
        case(by_name("fft", axes=(0, 2), norm="ortho"), normal(2, 1, 3)),
    ],
    "ifft": [
        case(by_name("ifft", axes=(1, 0), norm="backward"), normal(4, 3, dtype=complex)),
        case(by_name("ifft", axes=(0,), norm="forward"), normal(4, 3)),
    ],
    "rfft": [
        case(by_name("rfft", axis=axis, norm=norm), normal(3, n))
        for axis, norm, n in ((1, "backward", 5), (1, "ortho", 6), (0, "forward", 2), (1, "backward", 1))
    ],
    "irfft": [
        case(by_name("irfft", n=n, axis=axis, norm=norm), normal(3, 4, dtype=complex))
        for axis, norm, n in ((1, "backward", 6), (1, "ortho", 7), (0, "forward", 4), (0, "backward", 5))
    ],
    **{
        name: [case(by_name(name, type=t, axis=a), normal(3, 4)) for t, a in ((1, 1), (2, 0), (3, 1), (4, 0))]
        for name in ("dct", "dst")
    },
    "sliding_windows": [
        case(by_name("sliding_windows", windows=Windows((1,), (3,), (2,), (1,))), normal(2, 8)),
        case(by_name("sliding_windows", windows=Windows((2, 0), (2, 3), (1, 1), (2, 1))), normal(4, 2, 5)),
    ],
    "sliding_windows_add": [
        case(
            by_name("sliding_windows_add", windows=Windows((1,), (3,), (2,), (1,))),
            normal(2, 8),
            normal(2, 3, 3),
        ),
    ],
    "conv_general_dilated": [
        case(_conv(Config((1,), ((2, 1),), (1,), (1,), NCW)), normal(2, 3, 5), normal(4, 3, 2)),
        case(
            _conv(Config((2, 1), ((1, 0), (-1, 2)), (1, 2), (2, 1), NHWC)),
            normal(2, 5, 4, 3),
            normal(2, 3, 3, 4),
        ),
        case(_conv(Config((1,), ((1, 1),), (3,), (1,), NCW, 2, 1)), normal(2, 4, 3), normal(6, 2, 3)),
        case(_conv(Config((2,), ((1, 1),), (1,), (1,), NCW, 1, 2)), normal(4, 3, 5), normal(2, 3, 3)),
        case(
            _conv(Config((1, 1), ((1, 1), (1, 1)), (1, 1), (1, 1), NCHW, 3, 1)),
            normal(2, 3, 4, 4),
            normal(3, 1, 3, 3),
        ),
    ],
    **{
        name: [case(by_name(name, pool=pool), maker(3, 4)) for pool in POOLS]
        for name, maker in {
            "reduce_window_sum": normal,
            "reduce_window_prod": normal,
            "reduce_window_max": distinct,
            "reduce_window_min": distinct,
            "reduce_window_and": booleans,
            "reduce_window_or": booleans,
        }.items()
    },
    "select_and_gather_add": [
        case(_choose("select_and_gather_add", which, pool), normal(3, 4), distinct(3, 4))
        for which, pool in zip(("ge", "le", "ge", "le"), POOLS, strict=True)
    ],
    "select_and_scatter_add": [
        case(_choose("select_and_scatter_add", which, pool), normal(*_count((3, 4), pool)), distinct(3, 4))
        for which, pool in zip(("ge", "le", "ge", "le"), POOLS, strict=True)
    ],
    "cumlogsumexp": [
        case(by_name("cumlogsumexp", axis=a, reverse=r), normal(2, 4)) for a in (0, 1) for r in (False, True)
    ],
}
