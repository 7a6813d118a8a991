"""Cases of names for checkpoint, linear calls, and functions with a batching rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cases.makers import Case, case, normal, positive
from tracejit.control.custom import custom_vmap, linear_call
from tracejit.control.policies import name_value
from tracejit.tracing import to_raw, wrap


def _linear(x: Any, d: Any) -> Any:
    def fun(res: Any, lin: Any) -> Any:
        return lin / res

    return to_raw(linear_call(fun, fun, wrap(d), wrap(x)))


_weighted = custom_vmap(lambda x, y: np.sin(x) * y)


@_weighted.def_vmap
def _rule(size: int, in_batched: Any, x: Any, y: Any) -> Any:
    if not in_batched[0]:
        x = np.broadcast_to(x, (size, *x.shape))
    return np.sin(x) * y, True


CASES: dict[str, list[Case]] = {
    "name": [case(lambda x: name_value(x, name="here"), normal(2, 3))],
    "linear_call": [case(_linear, normal(3), positive(3))],
    "custom_vmap": [case(lambda x, y: to_raw(_weighted(wrap(x), wrap(y))), normal(3), normal(3))],
}
