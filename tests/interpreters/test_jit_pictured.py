"""What pictures are told of the way of a program."""

from __future__ import annotations

import numpy as np

import tracejit as tj
from tracejit.interpreters import jit_pictured


def test_stages_lead_to_what_is_compiled() -> None:
    x = np.ones(5)
    lowered = tj.jit(lambda x: np.sin(x) + np.sin(x) + 0 * x.sum()).lower(x)
    found = jit_pictured.stages(lowered.jaxpr)
    assert found[0] == ("traced", lowered.jaxpr) and "cse" in [name for name, _ in found]
    ops = [[e.op.name for e in p.eqns] for p in (found[-1][1], lowered.compile().jaxpr)]
    assert ops[0] == ops[1] and ops[0].count("sin") == 1
