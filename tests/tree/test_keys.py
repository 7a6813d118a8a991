"""Paths of keys, as JAX's documentation describes them. (tests/test_tree_util.py has the classes of keys.)"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tracejit import tree
from tracejit.errors import ArgumentError, PytreeMismatchError
from tracejit.tree_util import DictKey, SequenceKey, is_tree_node, register_dataclass

TREE = {"b": [1, (2, 3)], "a": None, "c": 4}


def test_paths_are_tuples_and_text() -> None:
    path, leaf = tree.leaves_with_path(TREE)[1]
    assert path == (DictKey("b"), SequenceKey(1), SequenceKey(0)) and leaf == 2
    assert str(path) == "['b'][1][0]" == f"{path}"
    named = tree.map_with_path(lambda path, x, y: (str(path), x + y), {"a": 1}, {"a": 2})
    assert named == {"a": ("['a']", 3)}


def test_leaves_by_path() -> None:
    deep = tree.leaves_with_path(TREE, lambda path, x: len(path) == 2, is_leaf_takes_path=True)
    assert [(str(path), leaf) for path, leaf in deep] == [("['b'][0]", 1), ("['b'][1]", (2, 3)), ("['c']", 4)]
    whole = tree.flatten_with_path(TREE, lambda path, x: True, is_leaf_takes_path=True)[0]
    assert whole == [((), TREE)]


def test_broadcast() -> None:
    full = {"a": [3, 4], "b": (5,)}
    assert tree.broadcast({"a": 1, "b": 2}, full) == {"a": [1, 1], "b": (2,)}
    assert tree.broadcast(0, full) == {"a": [0, 0], "b": (0,)}
    with pytest.raises(PytreeMismatchError):
        tree.broadcast({"a": 1}, full)


def test_reduce_associative() -> None:
    assert tree.reduce_associative(lambda a, b: f"({a}{b})", list("abcde")) == "(((ab)(cd))e)"
    assert tree.reduce_associative(max, [], identity=0) == 0
    with pytest.raises(ArgumentError, match="identity"):
        tree.reduce_associative(max, [])


@register_dataclass
@dataclasses.dataclass
class Layer:
    weight: Any
    name: str = tree.static(default="plain", metadata={"more": 1})


def test_static_fields_and_nodes() -> None:
    assert tree.leaves(Layer(1.0)) == [1.0]
    assert tree.structure(Layer(1.0)) != tree.structure(Layer(1.0, "other"))
    assert [is_tree_node(c) for c in (Layer, list, type(None), int)] == [True, True, True, False]


def test_transpose_by_the_first_leaf() -> None:
    turned = tree.transpose(tree.structure([0, 0]), None, [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    assert turned == {"a": [1, 3], "b": [2, 4]}
