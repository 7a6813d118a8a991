"""Records against the dataclasses that they stand for."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import field
from typing import Any

import pytest

from tracejit import lax
from tracejit.records import record


def _plain(decorate: Callable[..., Any]) -> type:
    @decorate()
    class Plain:
        """Two fields and a default."""

        a: int
        b: Any = 2

    return Plain


def _fields(decorate: Callable[..., Any]) -> type:
    @decorate()
    class Fields:
        """Every kind of field."""

        a: int
        items: list[int] = field(default_factory=list)
        hidden: int = field(default=3, repr=False)
        ignored: int = field(default=4, compare=False)
        made: dict[str, int] = field(init=False, default_factory=dict)
        fixed: int = field(init=False, default=5)
        after: int = field(init=False)

        def __post_init__(self) -> None:
            self.after = self.a + 1

    return Fields


def _frozen(decorate: Callable[..., Any]) -> type:
    @decorate(frozen=True)
    class Frozen:
        """It can be a key."""

        a: int
        items: tuple[int, ...] = field(default_factory=tuple)

    return Frozen


def _keywords(decorate: Callable[..., Any]) -> type:
    @decorate(frozen=True, kw_only=True, eq=False, repr=False)
    class Keywords:
        """Names only, compared by identity."""

        b: int = 1
        a: int

        def __repr__(self) -> str:
            return f"<{self.a}>"

    return Keywords


def _derived(decorate: Callable[..., Any]) -> type:
    @decorate(frozen=True)
    class Base:
        """One field."""

        a: int
        b: int = 1

    @decorate(frozen=True)
    class Derived(Base):
        """And one more."""

        b: int = 7
        c: int = 2

    return Derived


def _empty(decorate: Callable[..., Any]) -> type:
    @decorate(frozen=True)
    class Empty:
        """No fields."""

    return Empty


def _seen(cls: type, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """What can be seen of an object of `cls`: results, or the types of what is raised."""
    x, y = cls(*args, **kwargs), cls(*args, **kwargs)
    looks: dict[str, Callable[[], Any]] = {
        "values": lambda: vars(x),
        "repr": lambda: repr(x).rpartition("<locals>.")[2],
        "equal": lambda: x == y,
        "unlike others": lambda: (x == vars(x), x != object()),
        "hash": lambda: hash(x) == hash(y),
        "fields": lambda: [
            (f.name, f.type, f.init, f.repr, f.compare, f.kw_only) for f in dataclasses.fields(x)
        ],
        "pattern": lambda: cls.__match_args__,  # type: ignore[attr-defined]
        "replaced": lambda: vars(dataclasses.replace(x, a=9)),
        "replaced differs": lambda: dataclasses.replace(x, a=9) == x,
        "assigned": lambda: setattr(x, "a", 8),
        "deleted": lambda: delattr(x, "a"),
        "after": lambda: vars(x),
        "too many": lambda: cls(*range(20)),
        "unknown": lambda: cls(*args, **kwargs, unknown=1),
        "copied": lambda: vars(copy.copy(y)),
    }
    return {name: _outcome(look) for name, look in looks.items()}


def _outcome(look: Callable[[], Any]) -> Any:
    try:
        return copy.deepcopy(look())
    except Exception as e:
        return type(e)


@pytest.mark.parametrize(
    ("make", "args", "kwargs"),
    [
        (_plain, (1,), {}),
        (_plain, (1, [3]), {}),
        (_plain, (), {"b": 1, "a": 2}),
        (_fields, (1,), {}),
        (_fields, (1, [2]), {"hidden": 8, "ignored": 9}),
        (_frozen, (1,), {}),
        (_frozen, (1, (2,)), {}),
        (_keywords, (), {"a": 1}),
        (_derived, (1,), {}),
        (_derived, (1, 2, 3), {}),
        (_empty, (), {}),
    ],
)
def test_a_record_is_as_the_dataclass(make, args, kwargs):
    assert _seen(make(record), *args, **kwargs) == _seen(make(dataclasses.dataclass), *args, **kwargs)


def test_what_is_not_compared_makes_no_difference():
    cls: Any = _fields(record)
    assert cls(1, ignored=1) == cls(1, ignored=2)
    assert cls(1, hidden=1) != cls(1, hidden=2)


def test_objects_own_what_factories_make():
    cls: Any = _fields(record)
    assert cls(1).items is not cls(1).items


def test_subclasses_that_are_no_records():
    cls: Any = _plain(record)

    class Sub(cls):
        def __init__(self, a: int) -> None:
            super().__init__(a, b=10)

    assert (Sub(3).a, Sub(3).b, Sub(3) == Sub(3), Sub(3) == cls(3, 10)) == (3, 10, True, False)


def test_a_pattern_before_and_after_the_first_object():
    cls: Any = _plain(record)
    for x in (1, cls(4, 5)):
        match x:
            case cls(a, b):
                assert (a, b) == (4, 5)
            case _:
                assert x == 1


def test_errors_name_the_class():
    with pytest.raises(TypeError, match=r"Plain.__init__\(\) missing 1 required positional argument: 'a'"):
        _plain(record)()


def test_unpickled_before_one_was_made():
    """The first object of a process need not come from `__init__`."""
    code = """
import pickle, sys
from tracejit.lax import GatherDimensionNumbers
cls = pickle.loads(bytes.fromhex(sys.argv[1]))
x, y = pickle.loads(bytes.fromhex(sys.argv[2])), pickle.loads(bytes.fromhex(sys.argv[2]))
assert type(x) is cls and x == y and hash(x) == hash(y) and 'offset_dims' in repr(x)
"""
    from_here = lax.GatherDimensionNumbers
    x = from_here((0,), (1,), (1,))
    sent = [pickle.dumps(from_here).hex(), pickle.dumps(x).hex()]
    subprocess.run([sys.executable, "-c", code, *sent], check=True)


def test_first_objects_of_many_threads():
    for _ in range(20):
        cls: Any = _derived(record)
        start, made = threading.Barrier(8), []

        def make(cls: Any = cls, start: Any = start, made: list[Any] = made) -> None:
            start.wait()
            made.append(cls(1, c=5))

        threads = [threading.Thread(target=make) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert made == [cls(1, c=5)] * 8
