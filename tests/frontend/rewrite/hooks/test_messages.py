"""Messages of exceptions that compiled code raises show the values of that call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj


def checked(x: Any, k: Any) -> Any:
    if x < 0:
        raise ValueError(f"negative: {x:.3f}!")
    if not k < 5:
        raise AssertionError(f"k is {k}, {k:+d} is too much")
    for i in range(30):
        if i > k * 10:
            raise RuntimeError(f"step {i} of {30}")
    if x > 50:
        raise ValueError(f"{x:>12.2e}")
    return x


def test_one_number_is_shown() -> None:
    compiled = tj.jit(checked)
    for args in (
        (-1.5, 1),
        (1.0, 7),
        (1.0, 1),
        (60.0, 3),
        (-np.inf, 3),
        (np.float32(-2.1), 3),
        (np.float64(70), 4),
    ):
        with pytest.raises((ValueError, AssertionError, RuntimeError)) as want:
            checked(*args)
        with pytest.raises(type(want.value)) as got:
            compiled(*args)
        assert str(got.value) == str(want.value)
    assert compiled(-0.0, 3) == 0 and compiled(2.0, 4) == 2


def test_under_other_transformations() -> None:
    with pytest.raises(ValueError, match=r"negative: -2\.000!"):
        tj.vmap(tj.jit(checked), (0, None))(np.array([1.0, -2.0, 3.0]), 3)
    with pytest.raises(ValueError, match=r"negative: -3\.000!"):
        tj.jit(tj.grad(checked))(-3.0, 3)


def _told(x: Any, y: Any) -> Any:
    print("asked", y)
    if x.sum() < 0:
        raise ValueError(f"{x} below {y}")
    if y > 3:
        raise Coded(y, detail=x) from KeyError(y)
    assert y > 1, (y, x[0])
    return x


@pytest.mark.parametrize(
    ("sign", "y", "error", "match"),
    [
        (-1, 2.0, ValueError, r"^\[-1. -1.\] below 2\.0$"),
        (1, 4.0, Exception, r"^code 4\.0: \[1. 1.\]$"),
        (1, 0.5, AssertionError, r"^\(0\.5, np\.float64\(1\.0\)\)"),
    ],
)
def test_several_numbers_and_arrays_are_told_by_python(
    sign: int, y: float, error: Any, match: str, capsys: pytest.CaptureFixture[str]
) -> None:
    f = tj.jit(_told)
    for _ in range(2):
        f(np.ones(2), 2.0)
        capsys.readouterr()
        with pytest.raises(error, match=match) as caught:
            f(sign * np.ones(2), y)
        assert capsys.readouterr().out == f"asked {y}\n"
        assert caught.value.__context__ is None and "_tj" not in str(vars(caught.value))
    with pytest.raises(error, match=match):  # while it is traced for the first time
        tj.jit(lambda x, y: _told(x, y))(sign * np.ones(2), y)


def test_inside_of_another_transformation_they_are_types() -> None:
    f = tj.jit(tj.vmap(_below))
    with pytest.raises(ValueError, match=r"^Traced<f64\[2\]> below 1\.0$"):
        f(-np.ones((3, 2)), np.ones(3))


def _below(x: Any, y: Any) -> Any:
    if x.sum() < 0:
        raise ValueError(f"{x} below {y}")
    return x


def test_a_first_call_that_raises_tells_its_values() -> None:
    def f(x: Any, y: Any) -> Any:
        raise ValueError(f"{x.sum()} and {y}")

    with pytest.raises(ValueError, match=r"^2\.0 and 4\.5$"):
        tj.jit(f)(np.ones(2), 4.5)


class Coded(Exception):
    def __init__(self, code, *, detail):
        super().__init__(f"code {code}: {detail}")
        self.code = code


class Fixed(OSError):
    def __init__(self):
        super().__init__(2, "fixed")


def test_exceptions_that_take_other_arguments():
    def f(x):
        if x > 1:
            raise Coded(4, detail="q")
        if x < -1:
            raise Fixed
        return x

    g = tj.jit(f)
    assert g(0.5) == 0.5
    for _ in range(2):
        with pytest.raises(Coded, match="code 4: q") as coded:
            g(2.0)
        with pytest.raises(Fixed, match="fixed") as fixed:
            g(-2.0)
        assert coded.value.code == 4 and fixed.value.errno == 2
