"""Cases of inverse hyperbolic functions, parts of floats, integer algorithms and bit casts."""

from __future__ import annotations

import numpy as np

from tests.cases.makers import Case, Maker, by_name, case, fixed, inside, integers, many, normal, positive
from tracejit.ops.elementwise import bitcasts


def _complex(*shape: int) -> Maker:
    return lambda rng: rng.uniform(0.2, 0.9, shape) + 1j * rng.uniform(0.2, 0.9, shape)


def _above_one(*shape: int) -> Maker:
    return lambda rng: rng.uniform(1.2, 3.0, shape)


def _int32(*shape: int) -> Maker:
    return lambda rng: rng.integers(-4, 5, shape).astype(np.int32)


_QUOTIENTS = (fixed([3.3, -4.1, 5.2]), fixed([1.9, 1.7, -2.2]))
_PAIRS = [(normal(2, 3), normal(2, 3)), (normal(), normal(3)), (normal(3), normal())]

CASES: dict[str, list[Case]] = {
    **many("arcsinh", (normal(2, 3),), (normal(),), (_complex(3),)),
    **many("arccosh", (_above_one(2, 3),), (_complex(3),)),
    **many("arctanh", (inside(2, 3),), (_complex(3),)),
    **many("rsqrt", (positive(2, 3),), (_complex(2),)),
    **many("sinc", (normal(2, 3),), (fixed([0.0, 1e-9, 0.3, -2.5]),)),
    **many("hypot logaddexp logaddexp2 heaviside", *_PAIRS),
    **many("frexp modf", (fixed([3.3, -0.7, 12.25]),), (fixed(-2.6),)),
    **many("divmod", _QUOTIENTS, (integers(4), fixed([3, -2, 5, 1]))),
    **many("ldexp", (normal(3), _int32(3)), (normal(), _int32(3)), (normal(3), integers())),
    "nextafter": [case(by_name("nextafter"), normal(3), normal(3), smooth=False)],
    "spacing": [case(by_name("spacing"), normal(3), smooth=False)],
    "reduce_precision": [
        case(by_name("reduce_precision", exponent_bits=8, mantissa_bits=10), normal(3), smooth=False)
    ],
    **many("gcd lcm", (integers(2, 3, low=-60, high=60), integers(2, 3, low=-60, high=60))),
    **many("bitwise_count population_count clz ctz", (integers(4, low=-900, high=900),)),
    **many("shift_right_logical", (integers(4, low=-900, high=900), integers(4, low=0, high=9))),
    "bitcast_split": [case(lambda x: bitcasts.bitcast_convert(x, dtype=np.int16), normal(2, 3))],
    "bitcast_join": [
        case(
            lambda x: bitcasts.bitcast_convert(x, dtype=np.uint64),
            lambda rng: rng.integers(0, 2**31, (3, 2)).astype(np.int32),
        ),
    ],
}
