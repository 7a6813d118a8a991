"""Members of enumerations, numbers of other classes and classes of arrays, as values, keys, results and state."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import numpy as np

from tests.programs.observe import program

A = np.array([1.0, 2.0, 2.5])


class E(enum.IntEnum):
    A = 1
    B = 2


class F(enum.IntFlag):
    A = 1
    B = 2


class S(enum.StrEnum):
    A = "a"


class N(int):
    pass


class D(float):
    pass


@program
def numbers_of_enumerations_are_members_of_them() -> Any:
    held = []

    def f(i, x):
        held.append(E(i))
        return E(i), x * E(i), {"e": E.A, E.B: i}, (E.B if i > 1 else E.A), F(i) | F.B, S("a"), [F.A]

    return f, [(1, A), (2, A), (3, A), (1, A)], lambda: held


@program
def an_enumeration_chosen_by_traced() -> Any:
    def f(x):
        return E.A if x.sum() > 5 else E.B

    return f, [(A,), (A * 0,), (A,)], None


@program
def numbers_of_classes() -> Any:
    n = N(5)

    def f(x):
        return n, x * n

    return f, [(A,), (A * 0,), (A,)], lambda: n


@program
def numbers_of_classes_that_are_made() -> Any:
    def f(x):
        a = N(3)
        b = D(1.5)
        return a, x * a, b, a

    return f, [(A,), (A * 0,), (A,)], None


@program
def a_member_in_an_object() -> Any:
    class Machine:
        mode = E.A

    o = Machine()

    def f(x):
        m = o.mode
        o.mode = E.B if m is E.A else E.A
        return m, o.mode, x * m

    return f, [(A,), (A * 0,), (A,)], lambda: o


@program
def a_member_as_an_argument() -> Any:
    def f(m, x):
        return m, x * m, [m], m is E.A, m == 1, m.name

    return f, [(E.A, A), (E.B, A)], None


@program
def classes_of_arrays() -> Any:
    seen = {}

    def f(x):
        seen[type(x)] = seen.get(type(x), 0) + 1
        return (
            type(x),
            {type(x): 1},
            [type(x)],
            type(x) is np.ndarray,
            np.ndarray,
            type(x).__name__,
            f"{type(x)}",
            repr(type(x)),
            {type(x)},
            type(x).__mro__[0],
            type(x) in (np.ndarray,),
            str(type(x)),
            (type(x), float),
        )

    return f, [(A,), (A * 2,)], lambda: seen


@program
def the_class_of_what_is_given() -> Any:
    def f(x):
        return type(x)

    return f, [(A,), (1.0,), (np.float64(2),), (1,), ([1],)], None


@program
def the_class_of_an_array_as_a_key_of_the_result() -> Any:
    def f(x):
        return {type(x): x}

    return f, [(A,), (A * 2,)], None


@program
def the_class_of_an_array_in_an_object() -> Any:
    class Machine:
        pass

    o = Machine()

    def f(x):
        o.c = type(x)
        o.d = {np.ndarray: x}
        o.e = x.__class__
        return isinstance(x, o.c), x.__class__

    return f, [(A,), (A * 2,)], lambda: (o.c, o.d, o.e)


@program
def the_class_of_an_array_in_an_exception() -> Any:
    def f(x):
        raise TypeError(f"no {type(x).__name__}: {type(x)}", type(x))

    return f, [(A,), (A * 2,)], None


@program
def classes_that_are_printed() -> Any:
    def f(x):
        print(type(x), type(x[0]), type(x.sum()), x.dtype, np.ndarray)
        return x

    return f, [(A,), (A * 2,)], None


@program
def classes_of_arrays_called_and_compared() -> Any:
    def f(x):
        return (
            type(x)((2,)).shape,
            type(x.sum())(2),
            type([x])((1, x)),
            type(x) is type(x * 2),
            issubclass(type(x), np.ndarray),
            type(type(x)) is type,
            type(type(x)),
            {type: type},
            isinstance(type(x), type),
        )

    return f, [(A,), (A * 2,)], None


class P:
    pass


@program
def users_classes_as_keys() -> Any:
    def f(x):
        return {P: x}, [{type(P()): 1}], {(P, 1): 2}

    return f, [(A,), (A * 2,)], None


class C0(enum.Enum):
    A = 1
    B = 2


@program
def a_member_that_is_no_number_chosen() -> Any:
    def f(x):
        c = C0.A
        if x.sum() > 5:
            c = C0.B
        return c, c is C0.B

    return f, [(A,), (A * 0,), (A,)], None


@program
def a_member_in_a_loop_over_an_array() -> Any:
    def f(x):
        m = E.A
        n = 0
        for v in x:
            if v > 2:
                m = E.B
            elif v > 1.5:
                m = 1
            n += m
        return m, n

    return f, [(A,), (A * 0,), (A + 1,), (A - 0.5,)], None


@program
def a_member_that_a_while_loop_changes() -> Any:
    def f(x):
        m = E.A
        i = 0
        while i < x[0]:
            m = E.B if m == E.A else E.A
            i += m
        return m, i, x * m

    return f, [(A,), (A * 0,), (A + 1,), (A + 8,)], None


@program
def a_member_that_is_matched() -> Any:
    def f(i, x):
        m = E(int(x[0]))
        match m:
            case E.A:
                return x, m
            case E.B:
                return x * 2, m.name

    return f, [(1, A), (1, A * 2), (1, A * 3)], None


ACTED: list[str] = []  # a name that methods of classes change, and the functions that call them do not name


class Step(enum.Enum):
    A = 1
    B = 2

    def __call__(self, x):
        ACTED.append(f"call {self.name}")
        return x * self.value

    def __str__(self):
        ACTED.append(f"str {self.name}")
        return self.name.lower()

    def __bool__(self):
        ACTED.append(f"bool {self.name}")
        return self is Step.A

    def __lt__(self, other):
        ACTED.append(f"{self.name} < {other.name}")
        return self.value < other.value


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2

    @property
    def weight(self):
        ACTED.append(f"weight {self.name}")
        return self * 1.5

    def scaled(self, x):
        ACTED.append(f"scaled {self.name}")
        return x * self


class Pair(NamedTuple):
    a: float
    b: float

    def __add__(self, other):
        ACTED.append("add")
        return Pair(self.a + other, self.b)

    def total(self):
        ACTED.append("total")
        return self.a + self.b


PAIR = Pair(1.0, 2.0)


def _acted() -> list[str]:
    found = list(ACTED)
    ACTED.clear()
    return found


@program
def special_methods_that_act_on_what_is_outside() -> Any:
    ACTED.clear()

    def f(x, c):
        step = Step.A if c > 0 else Step.B
        return step(x), f"{step!s}", x if step else -x, min(Step.B, step).name

    return f, [(A, 1.0), (A, -1.0), (A, 2.0)], _acted


@program
def methods_of_numbers_of_enumerations_act() -> Any:
    ACTED.clear()

    def f(x, c, n):
        level = Level.HIGH if c > 0 else Level.LOW
        return level.scaled(x), level.weight, Level.HIGH.scaled(c), Level(n).weight

    return f, [(A, 1.0, np.int64(1)), (A, -1.0, np.int64(2)), (A, 2.0, np.int64(1))], _acted


@program
def methods_of_named_tuples_of_outside_act() -> Any:
    ACTED.clear()

    def f(x, c):
        return PAIR.total() * x, (PAIR + c).a if c > 0 else c

    return f, [(A, 1.0), (A, -1.0), (A, 2.0)], _acted
