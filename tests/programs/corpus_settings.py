"""Programs that set, and ask, NumPy's settings: how errors are told, how arrays are written, how large buffers are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import getbufsize, seterr

from tests.programs.observe import program

A = np.array([0.5, 1.5, -2.0])


def _usual(n: int) -> None:
    """Before each call everything is as NumPy has it."""
    np.seterr(divide="warn", over="warn", under="ignore", invalid="warn")
    np.setbufsize(8192)
    np.seterrcall(None)
    np.set_printoptions(precision=8)


@program
def sets_the_error_state() -> Any:
    def f(x):
        np.seterr(divide="ignore", invalid="ignore")
        return x + 1

    return f, [(A,), (A + 1,), (A,)], np.geterr, _usual


@program
def sets_the_error_state_and_sets_it_back() -> Any:
    def f(x):
        before = np.seterr(all="raise")
        try:
            return 1 / x
        except FloatingPointError as e:
            return str(e)
        finally:
            np.seterr(**before)

    return f, [(A,), (A - 0.5,), (A,)], np.geterr, _usual


@program
def sets_what_is_called_on_errors() -> Any:
    def told(kind, flag):
        return None

    def f(x):
        np.seterrcall(told)
        return x + 1

    return f, [(A,), (A,), (A,)], lambda: np.geterrcall() is told, _usual


@program
def sets_the_size_of_buffers() -> Any:
    def f(x):
        return np.setbufsize(16384), x + 1

    return f, [(A,), (A,), (A,)], np.getbufsize, _usual


@program
def sets_how_arrays_are_written() -> Any:
    def f(x):
        np.set_printoptions(precision=3)
        return x + 1

    return f, [(A,), (A,), (A,)], lambda: np.get_printoptions()["precision"], _usual


@program
def asks_for_settings_that_change() -> Any:
    def before(n):
        _usual(n)
        np.setbufsize(8192 * (n + 1))
        np.seterr(divide=("warn", "ignore", "warn")[n])

    def f(x):
        ignores = np.geterr()["divide"] == "ignore"
        return x + np.getbufsize(), ignores, np.geterrcall() is None

    return f, [(A,), (A,), (A,)], lambda: _usual(0), before


@program
def shows_how_numpy_was_built() -> Any:
    def f(x):
        np.info("no such thing")
        return x + 1

    return f, [(A,), (A,), (A,)], None


@program
def settings_by_names_of_their_own() -> Any:
    def f(x):
        seterr(divide="ignore", invalid="ignore")
        return x + 1, getbufsize()

    return f, [(A,), (A + 1,), (A,)], np.geterr, _usual


@program
def settings_that_a_helper_asks_for() -> Any:
    def before(n):
        _usual(n)
        np.set_printoptions(precision=(8, 3, 8)[n])

    def digits():
        return np.get_printoptions()["precision"]

    return lambda x: x * digits(), [(A,), (A,), (A,)], lambda: _usual(0), before


@program
def settings_in_a_loop_of_the_program() -> Any:
    def f(x):
        for i in range(20):
            np.setbufsize(8192 + 16 * i)
            x = x + i
        return x

    return f, [(A,), (A,), (A,)], np.getbufsize, _usual
