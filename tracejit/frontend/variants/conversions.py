"""NumPy's scalar types called with values of several types: `np.float64(0 if x > 1 else x)`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.frontend.variants.node import Variant, use
from tracejit.numpy.scalars import converter


@functools.cache
def conversion(cls: type[np.generic]) -> Callable[..., Any]:
    """What traced code calls for `cls(...)`: of a value of several types, the conversion of each."""
    one = converter(cls)

    def convert(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and type(args[0]) is Variant and not kwargs:
            return use.each(args[0], one)
        return one(*args, **kwargs)

    return convert
