"""Cases of names for checkpoint, linear calls, and functions with a batching rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cases.makers import Case, case, normal, positive
from tracejit.control.call.policies import name_value
from tracejit.control.custom.linear_solve import custom_linear_solve
from tracejit.control.custom.public import custom_vmap, linear_call
from tracejit.ops.creation.constant import Held, constant_op
from tracejit.ops.elementwise import arithmetic
from tracejit.tracing import bind, to_raw, wrap


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


def _solution(a: Any, b: Any) -> Any:
    """x with (2 a + I) x = b, found by steps of which no derivative is taken."""

    def product(x: Any) -> Any:
        return x + wrap(a) * x + wrap(a) * x

    def solve(matvec: Any, y: Any) -> Any:
        return y / matvec(np.ones_like(y))

    return to_raw(custom_linear_solve(product, wrap(b), solve, symmetric=True))


_HELD = Held(np.array([[1.5, -2.0, 0.25], [3.0, 0.5, -1.0]]))

CASES: dict[str, list[Case]] = {
    "name": [case(lambda x: name_value(x, name="here"), normal(2, 3))],
    "linear_call": [case(_linear, normal(3), positive(3))],
    "constant": [case(lambda x: arithmetic.mul(x, bind(constant_op, value=_HELD)), normal(2, 3))],
    "linear_solve": [case(_solution, positive(3), normal(3))],
    "custom_vmap": [case(lambda x, y: to_raw(_weighted(wrap(x), wrap(y))), normal(3), normal(3))],
}
