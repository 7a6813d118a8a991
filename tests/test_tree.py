import dataclasses
import pickle
import threading
from collections import OrderedDict, defaultdict, deque, namedtuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracejit import tree
from tracejit.errors import PytreeMismatchError, UnhashableStaticError

Pair = namedtuple("Pair", "x y")


@dataclasses.dataclass
class Layer:
    w: object
    b: object = None
    act: object = dataclasses.field(default="tanh", metadata={"static": True})


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: object
    n: object = dataclasses.field(default=0, metadata={"static": True})

    def __post_init__(self):
        if self.a is None:
            raise ValueError("never None")


class Box:
    def __init__(self, value, tag):
        self.value, self.tag = value, tag


tree.register(Box, lambda b: ([b.value], b.tag), lambda tag, children: Box(*children, tag))

trees = st.recursive(
    st.none() | st.integers() | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
        | st.builds(Pair, inner, inner)
        | st.builds(Layer, inner, inner)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3).map(OrderedDict)
    ),
    max_leaves=12,
)


@given(trees)
@settings(max_examples=20)
def test_round_trip(t):
    leaves, treedef = tree.flatten(t)
    assert tree.unflatten(treedef, leaves) == t
    assert treedef == tree.structure(t) and hash(treedef) == hash(tree.structure(t))
    assert len(tree.paths(treedef)) == len(leaves) == treedef.num_leaves
    assert tree.map(lambda x: x, t) == t
    ordered, od = tree.flatten_ordered(t)
    assert od.unflatten(ordered) == t
    assert tree.flatten_axes("axes", treedef, t) == leaves or tree.leaves(t) != leaves


@pytest.mark.parametrize("n", [0, 1, 2, 16, 17, 40])
def test_flat_tuples_have_the_usual_structure(n):
    flat = tuple(float(i) for i in range(n))
    leaves, treedef = tree.flatten(flat)
    assert leaves == list(flat) and treedef == tree.structure(tuple(object() for _ in range(n)))
    assert treedef.unflatten(leaves) == flat


def test_kinds_of_nodes():
    t = {"b": deque([1]), "a": defaultdict(list, z=2), "c": (None, [3, Pair(4, Box(5, "t"))])}
    leaves, treedef = tree.flatten(t)
    assert leaves == [2, 1, 3, 4, 5]
    back = treedef.unflatten(leaves)
    assert back["a"].default_factory is list and isinstance(back["b"], deque) and back["c"][0] is None
    assert list(back) == ["b", "a", "c"]
    assert back["c"][1][1].y.tag == "t"


def test_what_is_a_leaf():
    class Thing:
        pass

    thing, array = Thing(), np.arange(3)
    assert tree.leaves([thing, array, "text"]) == [thing, array, "text"]
    assert tree.leaves([(1, 2), 3], is_leaf=lambda x: isinstance(x, tuple)) == [(1, 2), 3]
    assert tree.leaves(Layer(1), is_leaf=lambda x: isinstance(x, Layer)) == [Layer(1)]


def test_dataclasses_on_sight():
    leaves, treedef = tree.flatten([Layer(1.0, [2.0]), Frozen(3.0, n=7)])
    assert leaves == [1.0, 2.0, 3.0]
    assert treedef.unflatten([10, 20, None])[1] == _frozen(None, 7)  # __post_init__ is not run
    assert tree.structure(Layer(1, act="relu")) != tree.structure(Layer(1))


@pytest.mark.parametrize(("a", "b"), [(1, 1.0), (1, True), (0, False)])
def test_static_fields_differ_by_type(a, b):
    assert tree.structure(Frozen(1, a)) != tree.structure(Frozen(1, b))


def _frozen(a, n):
    out = object.__new__(Frozen)
    object.__setattr__(out, "a", a)
    object.__setattr__(out, "n", n)
    return out


def test_register_dataclass_with_lists():
    @dataclasses.dataclass
    class Model:
        w: object
        name: object

    tree.register_dataclass(Model, data_fields=["w"], meta_fields=["name"])
    tree.register_dataclass(Model)  # a second time is nothing
    assert tree.leaves(Model(1, "m")) == [1]


def test_register_leaf():
    @tree.register_leaf
    @dataclasses.dataclass(frozen=True)
    class Spec:
        shape: object

    assert tree.leaves([Spec((1, 2))]) == [Spec((1, 2))]


def test_first_sight_in_many_threads():
    @dataclasses.dataclass
    class Late:
        x: object

    found = []
    threads = [threading.Thread(target=lambda: found.append(tree.leaves([Late(1)]))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [[1]] * 8


def test_dict_order_for_guards():
    a, b = {"x": 1, "y": 2}, {"y": 2, "x": 1}
    assert tree.structure(a) == tree.structure(b)
    (_, ta), (lb, tb) = tree.flatten_ordered(a), tree.flatten_ordered(b)
    assert ta != tb and list(tb.unflatten(lb)) == ["y", "x"]
    assert tree.flatten_ordered((1.0, np.ones(2)))[1] == tree.structure((1.0, 2.0))


def test_map_all_reduce_transpose():
    t = {"a": (1, 2), "b": 3}
    assert tree.map(lambda x, y: x + y, t, {"b": 10, "a": (1, 1)}) == {"a": (2, 3), "b": 13}
    assert tree.map(lambda x, sub: (x, sub), [1], [{"any": "thing"}]) == [(1, {"any": "thing"})]
    assert tree.all([True, (1,)]) and not tree.all([True, (0,)])
    assert tree.reduce(lambda x, y: x + y, t) == 6 and tree.reduce(lambda x, y: x + y, t, 10) == 16
    outer, inner = tree.structure([0, 0]), tree.structure({"u": 0, "v": 0})
    turned = tree.transpose(outer, inner, [{"u": 1, "v": 2}, {"u": 3, "v": 4}])
    assert turned == {"u": [1, 3], "v": [2, 4]}


def test_paths():
    pairs, treedef = tree.flatten_with_paths({"a": [1, Layer(2, Pair(3, 4))]})
    assert pairs == [("['a'][0]", 1), ("['a'][1].w", 2), ("['a'][1].b.x", 3), ("['a'][1].b.y", 4)]
    assert tree.paths(treedef, "p")[0] == "p['a'][0]"
    assert tree.map_with_path(lambda p, x: f"{p}={x}", (1, 2)) == ("[0]=1", "[1]=2")


def test_prefixes():
    full = ({"w": 1, "b": (2, 3)}, 4, None)
    assert tree.broadcast_prefix(0, full) == [0, 0, 0, 0]
    assert tree.broadcast_prefix(({"b": None, "w": 1}, 2, None), full) == [None, None, 1, 2]
    assert tree.broadcast_prefix((Layer(0, None),), (Layer(1, [2, 3]),)) == [0, None, None]


@pytest.mark.parametrize(
    ("prefix", "path"),
    [
        (({"w": 0}, 0, 0), r"axes\[0\]"),
        (({"w": 0, "b": (0,)}, 0, 0), r"axes\[0\]\['b'\]"),
        (([0], 0, 0), r"axes\[0\]"),
        ((0, 0), "axes does not"),
        ((0, (1,), 0), r"axes\[1\] does not fit: it is a tuple of 1 where the value is a leaf"),
    ],
)
def test_a_prefix_that_does_not_fit_names_the_path(prefix, path):
    with pytest.raises(PytreeMismatchError, match=path):
        tree.flatten_axes("axes", tree.structure(({"w": 1, "b": (2, 3)}, 4, 5)), prefix)


def test_mismatch():
    with pytest.raises(PytreeMismatchError, match="the tangents does not fit"):
        tree.flatten_up_to(tree.structure({"a": 1}), {"b": 1}, "the tangents")
    with pytest.raises(PytreeMismatchError):
        tree.map(lambda *xs: xs, (1, 2), (1, 2, 3))


def test_what_guards_compare_must_be_hashable():
    tree.structure(Frozen(1, []))
    with pytest.raises(UnhashableStaticError, match="Frozen"):
        tree.flatten_ordered([Frozen(1, [])])
    with pytest.raises(UnhashableStaticError, match="Box"):
        tree.flatten_ordered(Box(1, {}))


def test_treedefs_survive_pickling():
    treedef = tree.structure({"a": (1, [2])})
    assert pickle.loads(pickle.dumps(treedef)) == treedef
