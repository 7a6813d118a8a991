"""Programs as public packages and collections of algorithms have them: trees with links to their parents, results that
are an argument's own tuple, sizes as arrays, numbers in other bases, dataclasses that look at what they are given."""

from __future__ import annotations

import copy
from dataclasses import InitVar, dataclass, field
from typing import Any, ClassVar

import numba
import numpy as np

from tests.programs.observe import program


@dataclass
class Leaf:
    name: str
    count: float
    parent: Any = None
    children: dict[str, Any] = field(default_factory=dict)


def _tree(count: float) -> Leaf:
    root = Leaf("root", count)
    child = Leaf("a", 2 * count, root)
    root.children["a"] = child
    child.children["b"] = Leaf("b", 3 * count, child)
    return child.children["b"]


@program
def trees_with_parents() -> Any:
    """Dataclasses that hold each other in a circle."""

    def f(leaf):
        total = 0.0
        while leaf.parent is not None:
            total += leaf.count
            leaf = leaf.parent
        return total

    return f, [(_tree(1.0),), (_tree(2.5),), (_tree(-1.0),)], None


@program
def trees_that_grow() -> Any:
    def f(leaf, x):
        leaf.count += x
        leaf.children["new"] = Leaf("new", x, leaf)
        return leaf.parent.parent

    return f, [(_tree(1.0), 1.0), (_tree(2.5), 2.0), (_tree(-1.0), 3.0)], None


@program
def lists_that_hold_themselves() -> Any:
    def make(x):
        xs = [x, 2 * x]
        xs.append(xs)
        return xs

    def f(xs):
        return xs[0] + xs[2][2][1]

    return f, [(make(1.0),), (make(2.0),), (make(3.0),)], None


class _Cell:
    def __init__(self, position: tuple[int, int]) -> None:
        self.position = position


@program
def tuples_of_arguments() -> Any:
    """What is handed back is the caller's own tuple."""

    def f(x, widths, cell):
        return np.pad(x, widths), widths, [cell.position][::-1]

    calls = [(np.ones(3), (int(f"{n}"), 2), _Cell((int(f"{n}"), 1))) for n in (1, 1, 3)]
    return f, calls, None


@program
def sizes_as_arrays() -> Any:
    def f(x):
        size = np.array(x.shape)
        size += size % 2 == 0
        big = np.zeros(size)
        big[: x.shape[0], : x.shape[1]] = x
        at = np.unravel_index(np.argmax(big), size)
        moved = np.roll(big, np.array([1, 2]), axis=(0, 1))
        twice = np.roll(big, 1, axis=(0, 1)) + np.roll(big, (1, 1), axis=1)
        return big.reshape(size[::-1]), np.tile(x, size - 2), at, moved, twice

    return f, [(np.arange(8.0).reshape(2, 4) * n,) for n in (1, 2, 3)], None


@program
def grids_of_lists() -> Any:
    def f(x):
        grid = np.mgrid[[slice(-o, d - o) for d, o in zip(x.shape, (1, 2), strict=True)]]
        return grid * x, np.ogrid[[slice(0, 2), slice(0, 3)]]

    return f, [(np.ones((2, 3)) * n,) for n in (1, 2, 3)], None


@program
def numbers_in_other_bases() -> Any:
    def f(bits):
        return int("".join(map(str, bits)), 2), int(f"{bits[0]}{bits[1]}", base=8), int(bin(bits[2])[2:], 2)

    return f, [([1, 0, 1],), ([1, 1, 1],), ([0, 1, 1],)], None


@program
def a_function_that_calls_itself_until_its_text_is_short() -> Any:
    def karatsuba(a, b):
        if len(str(a)) == 1 or len(str(b)) == 1:
            return a * b
        m = max(len(str(a)), len(str(b))) // 2
        a1, a2 = divmod(a, 10**m)
        b1, b2 = divmod(b, 10**m)
        x, y, z = karatsuba(a2, b2), karatsuba(a1 + a2, b1 + b2), karatsuba(a1, b1)
        return z * 10 ** (2 * m) + (y - z - x) * 10**m + x

    return karatsuba, [(15463, 23489), (12, 7), (123, 456)], None


@numba.njit
def _path(x, end):  # type: ignore[no-untyped-def]
    path = [(3, end)]
    while path[-1][0] != 0:
        a, b = path[-1]
        if x[0] > b:
            path.append((a - 1, b))
        else:
            path.append((a - 1, b - 1))
    places = [end]
    for k in range(len(x)):
        if x[k] > 0:
            places.append(k)
    return path[::-1], places


@program
def numbers_of_numpys_in_lists_that_numba_gives() -> Any:
    """They are Python's."""

    def f(x, end):
        return _path(x, end)

    return f, [(np.array([-1.0, 2.0, n]), np.int64(3)) for n in (1.0, -2.0, 3.0)], None


_KIND = np.float32 | np.float64


@dataclass
class _Looks:
    """Fields that are made arrays after they were given."""

    kinds: ClassVar[int] = 2
    a: Any
    b: Any = None
    scale: InitVar[float] = 2.0
    made: list[Any] = field(default_factory=list)
    later: Any = field(init=False, default=3)

    def __post_init__(self, scale: float) -> None:
        self.a = np.asarray(self.a, dtype=np.float64)
        self.b = np.array([1.0, 2.0]) if self.b is None else np.asarray(self.b)
        self.made.append(scale)
        self.kind = _KIND

    def __len__(self) -> int:
        return 0 if self.kind is None else len(_KIND.__args__)


@dataclass(frozen=True)
class _Frozen:
    a: Any
    norm: Any = None

    def __post_init__(self) -> None:
        if np.any(np.asarray(self.a) < -50):
            raise ValueError(f"too small: {self.a}")
        object.__setattr__(self, "norm", np.sqrt(np.sum(np.square(np.asarray(self.a)))))


@dataclass(init=False)
class _Own:
    a: Any
    b: Any

    def __init__(self, a: Any, *rest: Any) -> None:
        self.a = np.atleast_1d(np.array(a))
        self.b = len(rest)


@program
def dataclasses_that_look_at_their_fields() -> Any:
    def f(x, y):
        one, two = _Looks(x), _Looks(x, y, scale=3.0)
        return one.a + two.b, one.b * two.a, one.made, two.made, two.later, one.kind is _KIND, len(one)

    return f, [(1.5, [1.0, 2.0]), (2, [3.0, 4.0]), (np.float32(3), [5.0, 6.0])], None


@program
def dataclasses_that_judge_their_fields() -> Any:
    def f(x):
        frozen, own = _Frozen(a=x), _Own(x, 1, 2)
        return frozen, own, frozen.norm, own.b

    return f, [(np.ones(2),), (np.arange(2.0),), (np.full(2, -100.0),), ([1.0, 2.0],)], None


class _Signal:
    def __init__(self, time: Any) -> None:
        self.time = time

    @property
    def time(self) -> Any:
        return self._time

    @time.setter
    def time(self, value: Any) -> None:
        self._time = np.atleast_2d(np.asarray(value))

    def copy(self) -> Any:
        return copy.deepcopy(self)


@program
def copies_with_properties() -> Any:
    """What a copy is given goes through the setter of its class."""

    def f(signal, x):
        new, same = signal.copy(), copy.copy(signal)
        new.time = np.pad(new.time, ((0, 0), (1, 1))) * x
        same.time = new.time[0, 1:]
        return new, same.time, type(new) is type(signal)

    return f, [(_Signal(np.ones(3)), 2.0), (_Signal([[1.0, 2.0]]), 3.0), (_Signal(1.0), -1.0)], None
