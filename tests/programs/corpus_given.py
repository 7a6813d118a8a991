"""Programs that are given what acts, modules, classes and functions; and that may raise what is no Exception."""

from __future__ import annotations

import csv
import io
import math
import types
from typing import Any

import numpy as np

from tests.programs.observe import program

A = np.array([0.5, 1.5, -2.0])


@program
def given_an_append() -> Any:
    told: list[Any] = []

    def f(x, tell):
        tell(float(x[0]))
        return x * 2

    return f, [(A, told.append), (A + 1, told.append), (A, told.append)], lambda: told


@program
def given_print() -> Any:
    def f(x, tell):
        tell("called")
        return x * 2

    return f, [(A, print), (A + 1, print), (A, print)], None


@program
def given_a_csv_writer() -> Any:
    out = io.StringIO()
    writer = csv.writer(out)

    def f(x, w):
        w.writerow(["a", 1])
        return x * 2

    return f, [(A, writer), (A + 1, writer), (A, writer)], out.getvalue


@program
def given_a_method_of_a_csv_writer() -> Any:
    out = io.StringIO()
    writer = csv.writer(out)

    def f(x, write):
        write(["a", 1])
        return x * 2

    return f, [(A, writer.writerow), (A + 1, writer.writerow), (A, writer.writerow)], out.getvalue


@program
def given_modules() -> Any:
    return lambda x, m: m.sqrt(x) + m.pi, [(2.0, math), (2.0, np), (3.0, math)], None


@program
def given_a_module_that_changes() -> Any:
    m = types.ModuleType("settings_of_the_program")
    m.rate = 1.0  # type: ignore[attr-defined]

    def before(n):
        m.rate = float(n)  # type: ignore[attr-defined]

    return lambda x, given: x * given.rate, [(A, m), (A, m), (A, m)], None, before


@program
def given_a_class_that_changes() -> Any:
    class Model:
        rate = 1.0

        @staticmethod
        def scaled(x):
            return x * Model.rate

    def before(n):
        Model.rate = float(n)

    return lambda x, cls: cls.scaled(x) + cls.rate, [(A, Model), (A, Model), (A, Model)], None, before


@program
def given_functions_in_a_list_that_grows() -> Any:
    steps: list[Any] = [np.sin]

    def double(x):
        return x * 2

    def f(x, fs):
        for g in fs[:2]:
            x = g(x)
        fs.append(double)
        return x

    return f, [(A, steps), (A, steps), (A, steps)], lambda: len(steps)


@program
def given_users_functions_in_a_list_that_grows() -> Any:
    def double(x):
        return x * 2

    steps: list[Any] = [double]

    def f(x, fs):
        x = fs[0](x)
        fs.append(double)
        return x

    return f, [(A, steps), (A, steps), (A, steps)], lambda: len(steps)


@program
def interrupts_in_a_branch() -> Any:
    def f(x):
        if x[0] > 1:
            raise KeyboardInterrupt("too large")
        return x * 2

    return f, [(A,), (A / 2,), (A,)], None


@program
def interrupts_in_a_branch_and_catches() -> Any:
    def f(x):
        try:
            if x[0] > 1:
                raise KeyboardInterrupt
            return x * 2
        except KeyboardInterrupt:
            return "interrupted"

    return f, [(A,), (A + 1,), (A,)], None


class Halt(BaseException):
    """An exception of the program's own that no `except Exception` catches."""


@program
def halts_in_a_branch_and_catches() -> Any:
    def f(x):
        try:
            if x[0] > 1:
                raise Halt
            return x * 2
        except Halt:
            return "halted"

    return f, [(A,), (A + 1,), (A,)], None


@program
def interrupts_in_a_loop_and_catches() -> Any:
    def f(x, n):
        try:
            while x.sum() < n:
                raise KeyboardInterrupt
            return x * 2
        except KeyboardInterrupt:
            return "interrupted"

    return f, [(A, 0.0), (A, -1.0), (A, 5.0)], None


@program
def halts_in_a_loop_and_catches() -> Any:
    def f(x, n):
        try:
            while x.sum() < n:
                raise Halt(3)
            return x * 2
        except Halt as e:
            return e.args

    return f, [(A, 0.0), (A, -1.0), (A, 5.0)], None


@program
def leaves_a_loop_by_an_interrupt() -> Any:
    def f(x):
        total = 0.0
        try:
            for i in range(50):
                total = total + x[i % 3]
                if total > 3:
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            return "interrupted"
        return total

    return f, [(A,), (A + 1,), (A,)], None


@program
def raises_in_a_loop_that_may_not_run_and_catches() -> Any:
    def f(x, n):
        try:
            while x.sum() < n:
                raise ValueError("no step is possible")
            return x * 2
        except ValueError as e:
            return str(e)

    return f, [(A, 0.0), (A, -1.0), (A, 5.0)], None


@program
def looks_up_in_a_loop_that_may_not_run_and_catches() -> Any:
    table = {"a": 1.0}

    def f(x, n):
        try:
            for i in range(n):
                x = x + table["missing"] + i
        except KeyError:
            return "missing"
        return x

    return f, [(A, 0), (A, 3), (A, 0)], None
