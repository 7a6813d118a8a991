"""JAX's names of functions of trees, as JAX's documentation describes them."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import numpy as np

import tracejit as tj
from tracejit import tree_util as tu

Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Layer:
    weight: Any
    name: str = "layer"


tu.register_dataclass(Layer, ["weight"], ["name"])


@tu.register_pytree_node_class
class Interval:
    def __init__(self, low: Any, high: Any) -> None:
        self.low, self.high = low, high

    def tree_flatten(self) -> Any:
        return (self.low, self.high), None

    @classmethod
    def tree_unflatten(cls, aux: Any, children: Any) -> Any:
        return cls(*children)


@tu.register_pytree_with_keys_class
class Named:
    def __init__(self, value: Any) -> None:
        self.value = value

    def tree_flatten_with_keys(self) -> Any:
        return [(tu.GetAttrKey("value"), self.value)], None

    @classmethod
    def tree_unflatten(cls, aux: Any, children: Any) -> Any:
        return cls(*children)


TREE = {"a": [1, (2,)], "b": Point(3, 4), "c": Layer(5), "d": Interval(6, 7), "e": Named([8])}


def test_paths() -> None:
    pairs, treedef = tu.tree_flatten_with_path(TREE)
    d, s, g, f = tu.DictKey, tu.SequenceKey, tu.GetAttrKey, tu.FlattenedIndexKey
    assert [path for path, _ in pairs] == [
        (d("a"), s(0)),
        (d("a"), s(1), s(0)),
        (d("b"), g("x")),
        (d("b"), g("y")),
        (d("c"), g("weight")),
        (d("d"), f(0)),
        (d("d"), f(1)),
        (d("e"), g("value"), s(0)),
    ]
    assert (
        [leaf for _, leaf in pairs]
        == list(range(1, 9))
        == tu.tree_leaves(tu.tree_unflatten(treedef, range(1, 9)))
    )
    assert [tu.keystr(path) for path, _ in pairs[:3]] == ["['a'][0]", "['a'][1][0]", "['b'].x"]
    assert tu.keystr(pairs[-1][0], simple=True, separator="/") == "e/value/0"
    assert tu.tree_leaves_with_path(7) == [((), 7)]
    doubled = tu.tree_map_with_path(lambda path, x, y: (len(path), x + y), [1, {"k": 2}], [1, {"k": 2}])
    assert doubled == [(1, 2), {"k": (2, 4)}]


def test_structures() -> None:
    leaf, pair = tu.tree_structure(1), tu.tree_structure((1, [2, 3]))
    assert tu.treedef_is_leaf(leaf) and not tu.treedef_is_leaf(pair)
    assert tu.treedef_children(pair) == [leaf, tu.tree_structure([0, 0])]
    assert tu.treedef_tuple(tu.treedef_children(pair)) == pair
    assert tu.all_leaves([1, np.ones(2)]) and not tu.all_leaves([1, [2]])
    turned = tu.tree_transpose(tu.tree_structure([0, 0]), None, [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    assert turned == {"a": [1, 3], "b": [2, 4]}
    assert tu.tree_reduce(lambda a, b: a + b, [1, (2, 3)]) == 6 and tu.tree_all([True, {"a": 1}])


def test_nodes_under_transformations() -> None:
    width = tj.grad(lambda i: (i.high - i.low) ** 2)(Interval(1.0, 3.0))
    assert type(width) is Interval and (width.low, width.high) == (-4, 4)
    assert tj.jit(lambda layer: layer.weight * len(layer.name))(Layer(np.float64(2), "ab")) == 4


def test_partial() -> None:
    def scale(w: Any, x: Any, power: Any = 1) -> Any:
        return (w * x) ** power

    call = tj.jit(lambda f, x: f(x))
    assert call(tu.Partial(scale, np.float64(2), power=np.int64(2)), 3.0) == 36
    assert call(tu.Partial(scale, np.float64(3), power=np.int64(2)), 3.0) == 81 and call.trace_count == 1
    slope = tj.grad(lambda f: f(3.0))(tu.Partial(scale, 2.0))
    assert slope.args == (3.0,) and slope.func is scale


def test_static_objects() -> None:
    @tu.register_static
    class Mode(str):
        pass

    run = tj.jit(lambda mode, x: x if mode == "a" else -x)
    assert run(Mode("a"), 1.0) == 1 and run(Mode("b"), 1.0) == -1 and run.trace_count == 2
