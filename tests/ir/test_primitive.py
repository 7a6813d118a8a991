"""Op records: no slot is left open, names are unique, records survive pickling."""

from __future__ import annotations

import pickle
from dataclasses import fields
from typing import Any

import pytest

from tracejit.ir.primitive import LINEAR, REGISTRY, Op, Sentinel, all_ops, not_differentiable


def slots_of(op: Op) -> dict[str, Any]:
    return {f.name: getattr(op, f.name) for f in fields(op)}


def test_every_slot_must_be_given() -> None:
    full = slots_of(REGISTRY["sin"])
    for name in full:
        rest = {k: v for k, v in full.items() if k != name}
        with pytest.raises(TypeError, match=name):
            Op(**rest)
    with pytest.raises(TypeError):
        Op(*full.values())  # type: ignore[call-arg, misc]


def test_names_are_unique() -> None:
    with pytest.raises(TypeError, match="'sin' is already registered"):
        Op(**slots_of(REGISTRY["sin"]))


def test_absences_have_names_and_reasons() -> None:
    assert repr(LINEAR) == "LINEAR"
    s = not_differentiable("it sorts integers")
    assert isinstance(s, Sentinel) and repr(s) == "NOT_DIFFERENTIABLE(it sorts integers)"


def test_records_are_found_again_by_name() -> None:
    op = REGISTRY["cos"]
    assert pickle.loads(pickle.dumps(op)) is op and repr(op) == "cos"


def test_records_are_frozen() -> None:
    with pytest.raises(AttributeError):
        REGISTRY["cos"].doc = "other"  # type: ignore[misc]


def test_all_ops_are_in_order() -> None:
    names = [op.name for op in all_ops()]
    assert names == sorted(names) and len(names) > 100
