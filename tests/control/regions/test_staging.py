"""Leaves of trees that are no arrays: errors say where they are and what to do."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.errors import NotAnArrayError


@dataclasses.dataclass
class Settings:
    x: Any
    name: str = "n"


GIVEN = Settings(np.ones(2))


@pytest.mark.parametrize(
    "call",
    [
        lambda: tj.grad(lambda c: c.x.sum())(GIVEN),
        lambda: tj.vmap(lambda c: c.x)(GIVEN),
        lambda: tj.vmap(lambda x: Settings(x))(np.ones(2)),
        lambda: lax.scan(lambda c, _: (c, None), GIVEN, None, length=3),
        lambda: tj.jit(lambda x: lax.cond(x[0] > 0, lambda: Settings(x), lambda: Settings(x)))(np.ones(2)),
    ],
)
def test_fields_of_dataclasses_are_named(call) -> None:
    with pytest.raises(NotAnArrayError, match="field `name` of the dataclass Settings") as e:
        call()
    assert "metadata=dict(static=True)" in str(e.value)


def test_static_fields_and_leaves() -> None:
    @dataclasses.dataclass
    class Static:
        x: Any
        name: str = dataclasses.field(default="n", metadata={"static": True})

    out = tj.jit(lambda c: c)(Static(np.ones(2), "m"))
    assert out.name == "m" and np.array_equal(out.x, [1, 1])
    with pytest.raises(NotAnArrayError) as e:
        tj.jit(lambda x: [range(3), x])(1.0)
    assert "field `" not in str(e.value)


def test_strings_are_results_of_jit() -> None:
    (out,) = tj.jit(lambda x: [Settings(x)])(np.ones(2))
    assert type(out) is Settings and out.x.tolist() == [1, 1] and out.name == Settings(0).name
