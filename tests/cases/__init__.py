"""Example applications of every primitive, for the rule-completeness test: one file a family.

`CASES[op name]` is a list of cases: a function of raw values that binds the op, and makers of its
operands. An op without a case fails the test. Data keep away from points of non-differentiability.
A file of cases has a `CASES` dictionary, and may have `REVERSE_ONLY`: ops seen in derivatives only. `OF_DTYPE`
makes the cases of a dtype, of functions that hold one; the other cases are converted.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable

import numpy as np

from tests.cases.makers import Case

CASES: dict[str, list[Case]] = {}
REVERSE_ONLY: dict[str, list[Case]] = {}
OF_DTYPE: dict[str, Callable[[np.dtype], list[Case]]] = {}

for _module in pkgutil.iter_modules(__path__):
    _family = importlib.import_module(f"{__name__}.{_module.name}")
    for _name, _cases in getattr(_family, "CASES", {}).items():
        CASES.setdefault(_name, []).extend(_cases)
    REVERSE_ONLY.update(getattr(_family, "REVERSE_ONLY", {}))
    OF_DTYPE.update(getattr(_family, "OF_DTYPE", {}))
