"""What compiled parts may be given: values, functions and objects of the user's classes."""

from __future__ import annotations

import collections
import csv
import functools
import io
import math
from typing import NamedTuple

import numpy as np
import pytest

from tracejit.api.regions.given import why_unsure


class Pair(NamedTuple):
    a: float
    b: object


class Plain:
    def method(self):
        return self


class Told:
    def __del__(self):
        pass


class Meters(float):
    pass


@pytest.mark.parametrize(
    "x",
    [
        *(
            1,
            2.0,
            3j,
            True,
            None,
            "text",
            np.float32(1),
            np.ones(3),
            [1, (2, {"a": np.ones(2)})],
            range(3),
            iter([1]),
        ),
        *(
            Pair(1.0, [2]),
            Plain(),
            Plain().method,
            Plain,
            np.sin,
            np.sort,
            math.sqrt,
            len,
            np,
            math,
            np.float64,
        ),
        *(functools.partial(math.pow, 2.0), np.dtype(float), [1, 2].append, lambda v: v),
    ],
)
def test_sure(x):
    assert why_unsure(x) is None


@pytest.mark.parametrize(
    "x",
    [
        *(Told(), Meters(2.0), b"bytes", bytearray(b"x"), (n for n in [1]), ValueError("x")),
        *(collections.OrderedDict(a=1), io.StringIO()),
        *(csv.writer(io.StringIO()), print, functools.lru_cache(abs), np.ma.array([1])),
        *([1, [ValueError()]], {"a": Meters(1.0)}, Pair(1.0, b""), [0] * 10_000),
    ],
)
def test_not_sure(x):
    assert why_unsure(x) is not None
