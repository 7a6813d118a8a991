"""What a module is: a dataclass by itself, with or without a constructor of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import nn


class Base(nn.Module):
    weight: Any
    kind: str = nn.static("a")
    seen: Any = nn.statistic()

    def __init__(self, n: int) -> None:
        self.weight, self.seen = np.ones(n), np.zeros(n)


class Derived(Base):
    def __call__(self, x: Any) -> Any:
        return self.weight * x


class Given(nn.Module):
    weight: Any
    kind: str = nn.static("b")


def test_constructors() -> None:
    assert Derived(3)(2.0).tolist() == [2, 2, 2]  # inherited
    assert Given(weight=1.0, kind="c").kind == "c" and Given(2.0).weight == 2  # made
    assert repr(Given(2.0)) == "Given(weight=2.0, kind='b')"


def test_structure() -> None:
    leaves, structure = tj.tree.flatten(Derived(2))
    assert len(leaves) == 2 and structure == tj.tree.structure(Derived(5))
    assert tj.tree.structure(Given(1.0)) != tj.tree.structure(Given(1.0, "other"))
    assert tj.tree.map(lambda x: 2 * x, Derived(2)).weight.tolist() == [2, 2]


def test_trainable() -> None:
    mask = nn.trainable({"m": Derived(2), "rest": [1.0, (2.0,)]})
    assert mask["m"].weight is True and mask["m"].seen is False and mask["rest"] == [True, (True,)]


def test_replace_leaves_the_module_alone() -> None:
    m = Derived(2)
    assert m.replace(kind="z").kind == "z" and m.kind == "a"


def test_attributes_that_are_no_fields_are_refused() -> None:
    class Undeclared(nn.Module):
        def __init__(self) -> None:
            self.weight = np.ones(3)

        def __call__(self, x: Any) -> Any:
            return self.weight * x

    with pytest.raises(tj.errors.UnfollowedError, match=r"`weight` .* declares: `weight: Any`"):
        tj.grad(lambda m: m(2.0).sum())(Undeclared())
