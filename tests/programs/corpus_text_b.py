"""Programs that show their progress and make reports, as people write them."""

# ruff: noqa: UP031
from __future__ import annotations

import collections
import dataclasses
import io
import logging
import sys
import time
import warnings
from typing import Any

import numpy as np

from tests.programs.observe import program

A, B, C = np.arange(3.0), np.array([1.5, -2.0, 1e10]), np.array([[1.0, 2.0], [3.0, 4.0]])
LOG = logging.getLogger("tests.programs.text_b")


@program
def progress_every_hundred_steps() -> Any:
    def f(x):
        for step in range(500):
            x = 0.99 * x
            if step % 100 == 0:
                print(f"step {step:4d}: {x.max():.4e}")
        return x

    return f, [(A + 1,), (A + 2,), (B + 0,)], None


@program
def prints_in_a_while_loop() -> Any:
    def f(x, tolerance):
        n = 0
        while abs(x * x - 2.0) > tolerance:
            x = 0.5 * (x + 2.0 / x)
            n += 1
            print("iteration", n, "x =", round(x, 3))
        return x, n

    return f, [(1.0, 1e-6), (5.0, 1e-6), (1.0, 1e-3)], None


@program
def prints_a_dict() -> Any:
    def f(x):
        print({"loss": x.sum(), "n": x.size, "first": float(x[0])})
        return x * 2

    return f, [(A + 0,), (A + 1,), (B + 0,)], None


@program
def prints_unpacked() -> Any:
    def f(x):
        print(*x)
        print(*[2 * v for v in x], sep=", ", end=".\n")
        return x

    return f, [(A + 0,), (A + 1,), (B + 0,)], None


@program
def numbers_of_every_kind() -> Any:
    def f(a, b, c, d, e):
        print(a, b, c, d, e)
        return f"{a} {b!r} {c} {d:.2f} {e}", [str(a), repr(d), str(e)]

    return (
        f,
        [
            (True, 3, 1.5, 2.5 + 1j, np.float32(0.1)),
            (False, 4, -0.0, 1j, np.float32(1e20)),
            (True, -7, 1e300, 0j, np.float32(np.nan)),
        ],
        None,
    )


@program
def arrays_of_every_dtype() -> Any:
    def f(x):
        print(x, repr(x), x.dtype, x.shape)
        return f"{x}"

    return f, [(np.array([True, False]),), (np.int16([1, -2]),), (np.complex128([1, 2j]),)], None


@program
def large_arrays_are_summarized() -> Any:
    def f(x):
        print(x * 2)
        return str(x.reshape(50, 40))

    return f, [(np.arange(2000.0),), (np.arange(2000.0) + 1,), (np.zeros(2000),)], None


@program
def prints_then_fails_at_an_index() -> Any:
    def f(x, i):
        print("before", x[0])
        y = x[i]
        print("after", y)
        return y

    return f, [(A + 0, 1), (A + 0, 7), (A + 1, 2)], None


@program
def prints_then_divides() -> Any:
    def f(a, b):
        print("dividing", a, "by", b)
        return a / b

    return f, [(1.0, 2.0), (1.0, 0.0), (3, 2)], None


@program
def writes_and_prints_then_fails() -> Any:
    def f(x, i):
        x[0] = 10.0
        print("now", x)
        x[1] = x[i]
        return x.sum()

    return f, [(A + 0, 1), (A + 0, 7), (A + 1, 2)], None


@program
def raises_after_printing() -> Any:
    def f(x):
        print("checking", x.min())
        if x.min() < 0:
            raise ValueError(f"negative: {x.min():.1f} in {x}")
        return np.sqrt(x)

    return f, [(A + 0,), (B + 0,), (A + 1,)], None


@program
def integers_beyond_64_bits_after_printing() -> Any:
    def f(n):
        product = 1
        for i in range(1, n + 1):
            product *= i
        print(n, product)
        return product

    return f, [(5,), (30,), (20,)], None


@program
def nested_specifications() -> Any:
    def f(x, w, p):
        return f"[{x:{w}.{p}f}] [{x:>{w}.2e}] [{'a':^{w}}]"

    return f, [(1.5, 10, 2), (2.25, 10, 2), (2.25, 12, 3)], None


@program
def alignment_and_signs() -> Any:
    def f(n, x):
        return [
            f"{n:>6}",
            f"{n:<6}|",
            f"{n:^+7d}",
            f"{n:06d}",
            f"{n:,}",
            f"{n:x}",
            f"{n:#b}",
            f"{x:+.3e}",
            f"{x:%}",
        ]

    return f, [(5, 0.25), (-1234567, 1.5), (0, -0.0)], None


@program
def percent_with_a_dict_and_stars() -> Any:
    def f(x, n):
        return "%(a)s %(b)05.1f" % {"a": n, "b": x}, "%*d|%-8s|%r|%%" % (6, n, x, x)

    return f, [(1.5, 3), (2.5, -4), (np.float64(0.1), 5)], None


@program
def percent_d_of_a_float() -> Any:
    return lambda x: "%d of %i" % (x, x), [(2.7,), (-3.2,), (1e6,)], None


@program
def percent_d_of_what_is_no_number() -> Any:
    return lambda x: "%d" % x, [(2.7,), (np.nan,), (np.inf,)], None


@program
def a_format_that_does_not_fit() -> Any:
    return lambda x: f"{x:d}", [(2.5,), (1.0,), (3,)], None


@program
def table_of_rows() -> Any:
    def f(x):
        lines = [f"{'name':<10}|{'value':>12}", "-" * 23]
        for name, value in (("mean", x.mean()), ("max", x.max()), ("range", x.max() - x.min())):
            lines.append(f"{name:<10}|{value:>12.4f}")
        table = "\n".join(lines)
        print(table)
        return table

    return f, [(A + 0,), (A + 1,), (B + 0,)], None


@program
def text_as_a_value_of_a_dict() -> Any:
    def f(x):
        total = x.sum()
        return {
            "value": total,
            "text": f"{total:.2f}",
            "list": [str(v) for v in x],
            "pair": ("a", repr(total)),
        }

    return f, [(A + 0,), (A + 1,), (B + 0,)], None


@program
def text_of_a_constant() -> Any:
    return (
        lambda x, mode: (x * 2, f"mode {mode}", "done", b"raw"),
        [(A + 0, "a"), (A + 1, "a"), (A + 1, "b")],
        None,
    )


@program
def methods_of_text() -> Any:
    def f(x):
        name = f"value {x:.2f}"
        return (
            name.upper(),
            name.ljust(20, "."),
            name.replace(".", ","),
            (name + "!") * 2,
            "<" + name.strip() + ">",
        )

    return f, [(1.5,), (2.25,), (1e10,)], None


@program
def text_grows() -> Any:
    def f(x):
        report = ""
        for k in range(3):
            report += f"{k}: {x[k]:.1f}\n"
        return report.rstrip()

    return f, [(A + 0,), (A + 1,), (B + 0,)], None


@program
def a_default_message() -> Any:
    def f(x):
        message = "ok"
        if x.sum() > 5:
            message = f"large: {x.sum()}"
        print(message)
        return x

    return f, [(A + 0,), (A + 5,), (A + 1,)], None


@program
def status_by_condition() -> Any:
    def f(x, tolerance):
        status = "converged" if abs(x).max() < tolerance else "diverged"
        print("status:", status)
        return status

    return f, [(A + 0, 5.0), (A + 5, 5.0), (A + 1, 1.0)], None


@program
def a_message_for_either_case() -> Any:
    def f(x):
        if x.min() < 0:
            message = f"least is {x.min():.1f}"
        else:
            message = f"largest is {x.max():.1f}"
        return message

    return f, [(A + 0,), (B + 0,), (A + 1,)], None


@program
def prints_whether() -> Any:
    def f(x, y):
        print("equal" if x == y else "different", x > y, not x, x != y, sep="/")
        return x == y

    return f, [(1, 2), (2, 2), (0, -1)], None


@program
def logs_lazily() -> Any:
    def f(x):
        LOG.debug("never seen %s", x)
        LOG.warning("mean %.2f of %d", x.mean(), x.size)
        LOG.error("array %s and %r", x, x[0])
        LOG.log(logging.CRITICAL, "critical")
        return x + 1

    return f, [(A + 0,), (A + 1,), (B + 0,)], None


@program
def logs_where_it_is() -> Any:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        logging.Formatter("%(name)s %(levelname)s %(filename)s %(lineno)d %(funcName)s %(message)s")
    )
    log = logging.Logger("own")
    log.addHandler(handler)

    def inner(x):
        log.info("inner %s", x.sum())
        if x.sum() > 3:
            log.warning("in a branch")
        return [log.info("item %d", k) for k in range(2)]

    def f(x):
        log.info("outer %s", x)
        inner(x)
        for step in range(40):
            x = x * 1.01
            if step == 20:
                log.info("in a loop", stacklevel=1)
        return x

    return f, [(A + 0,), (A + 1,), (A + 2,)], out.getvalue


@program
def level_changes_between_calls() -> Any:
    log = logging.Logger("leveled")
    out = io.StringIO()
    log.addHandler(logging.StreamHandler(out))

    def f(x):
        log.info("info %g", x[0])
        log.debug("debug %g", x[0])
        return x

    def before(n):
        log.setLevel((logging.INFO, logging.DEBUG, logging.ERROR)[n])

    return f, [(A + 0,), (A + 1,), (A + 2,)], out.getvalue, before


@program
def asks_whether_it_logs() -> Any:
    def f(x):
        if LOG.isEnabledFor(logging.DEBUG):
            LOG.debug("expensive %s", x @ x)
        return x

    def before(n):
        LOG.setLevel(logging.DEBUG if n == 1 else logging.NOTSET)

    return f, [(A + 0,), (A + 1,), (A + 2,)], None, before


@program
def logs_by_the_module() -> Any:
    def f(x):
        logging.warning("warned of %s", x.max())
        logging.info("info")
        return x

    return f, [(A + 0,), (A + 1,), (B + 0,)], None


@program
def warns_of_several_things() -> Any:
    def f(x):
        if x.max() > 1:
            warnings.warn(f"large value {x.max()}", stacklevel=2)
        if (x == 0).any():
            warnings.warn("zeros", RuntimeWarning, stacklevel=1)
        return x

    return f, [(A + 0,), (A + 1,), (A - 5,)], None


@program
def warns_once_by_a_filter() -> Any:
    def f(x):
        for _ in range(3):
            warnings.warn(f"same text {x.size}", DeprecationWarning)
        return x

    def before(n):
        warnings.simplefilter(("once", "default", "ignore")[n])

    return f, [(A + 0,), (A + 1,), (A + 2,)], None, before


@program
def warnings_are_raised() -> Any:
    def f(x):
        print("before")
        warnings.warn(f"raised {x[0]}", RuntimeWarning, stacklevel=2)
        x[0] = 100
        print("after")
        return x

    def before(n):
        warnings.simplefilter(("always", "error", "always")[n])

    return f, [(A + 0,), (A + 1,), (A + 2,)], None, before


@program
def warns_with_a_warning() -> Any:
    class Careful(UserWarning):
        pass

    def f(x):
        warnings.warn(Careful(f"careful with {x[0]}"))
        return x

    return f, [(A + 0,), (A + 1,), (A + 2,)], None


@program
def reads_the_clock() -> Any:
    def f(x):
        start = time.perf_counter()
        y = np.sin(x).sum()
        spent = time.perf_counter() - start
        return y, spent >= 0, isinstance(spent, float), time.time() > 1e9, time.monotonic_ns() > 0

    return f, [(A + 0,), (A + 1,), (A + 2,)], None


@program
def times_its_steps() -> Any:
    def f(x):
        start = time.time()
        for step in range(300):
            x = x * 0.5 + 1
            if step % 100 == 99:
                print(step, time.time() - start < 100)
        time.sleep(0)
        return x

    return f, [(A + 0,), (A + 1,), (A + 2,)], None


@program
def writes_into_streams() -> Any:
    out = io.StringIO()

    def f(x):
        sys.stdout.write(f"{x.sum():.1f}\n")
        print("to the buffer", x, file=out)
        out.write("%g\n" % x[0])
        out.writelines(["a", f"{x[1]}", "\n"])
        print("to both", file=sys.stdout, flush=True)
        sys.stdout.flush()
        return x

    return f, [(A + 0,), (A + 1,), (A + 2,)], out.getvalue


@program
def another_stdout_each_time() -> Any:
    outs = [io.StringIO() for _ in range(3)]
    old: list[Any] = []

    def f(x):
        print("value", x[0])
        return x

    def before(n):
        old.append(sys.stdout)
        sys.stdout = outs[n] if n < 2 else old[0]

    return f, [(A + 0,), (A + 1,), (A + 2,)], lambda: [o.getvalue() for o in outs], before


@program
def prints_into_a_closed_file() -> Any:
    out = io.StringIO()

    def f(x):
        print("value", x[0], file=out)
        return x

    def before(n):
        if n == 1:
            out.close()

    return f, [(A + 0,), (A + 1,), (A + 2,)], None, before


@program
def builds_text_in_a_buffer() -> Any:
    def f(x):
        out = io.StringIO()
        out.write("values:\n")
        for k in range(len(x)):
            print(f"  {k}", x[k], sep=" = ", file=out)
        return out.getvalue()

    return f, [(A + 0,), (A + 1,), (B + 0,)], None


@dataclasses.dataclass
class State:
    t: float
    values: Any
    label: str = "state"
    hidden: Any = dataclasses.field(default=0, repr=False)


Point = collections.namedtuple("Point", "x y")


@program
def objects_of_traced_values() -> Any:
    def f(x):
        state, p = State(x[0], x), Point(x[1], (x[2], None))
        print(state, p)
        return repr(state), f"{p}", str([state, {"p": p}])

    return f, [(A + 0,), (A + 1,), (B + 0,)], None


@program
def an_object_that_prints_itself() -> Any:
    class Body:
        def __init__(self, position, speed):
            self.position, self.speed = position, speed

        def step(self, dt):
            self.position = self.position + dt * self.speed

        def __str__(self):
            return f"Body at {self.position:.3f}"

        def __repr__(self):
            return f"Body({self.position!r}, {self.speed!r})"

    def f(x, v):
        body = Body(x, v)
        for _ in range(3):
            body.step(0.1)
            print(body, [body], f"{body!r:>40}")
        return str(body)

    return f, [(0.0, 1.0), (1.0, -2.0), (0.5, 0.25)], None


@program
def prints_an_object_of_outside() -> Any:
    state = State(0.5, np.ones(2), "outside")

    def f(x):
        print(state, x)
        return f"{state.t:.2f} {state.values}"

    def before(n):
        state.t = n + 0.25
        state.values = state.values + 1

    return f, [(A + 0,), (A + 1,), (A + 2,)], lambda: repr(state), before


@program
def a_simulation_with_output() -> Any:
    def f(y, v, dt):
        print(f"{'t':>6} {'y':>10} {'v':>10}")
        t = 0.0
        for step in range(200):
            v = v - 0.5 * y * dt
            y = y + v * dt
            t = t + dt
            if step % 50 == 0:
                print(f"{t:6.2f} {y:10.4f} {v:10.4f}")
            if y < -0.9:
                print("turned at", round(t, 2))
                break
        else:
            print("never turned")
        return y, v

    return f, [(1.0, 0.0, 0.05), (0.1, 0.0, 0.01), (0.95, 0.0, 0.1)], None


@program
def an_optimiser_with_a_verbose_flag() -> Any:
    def f(w, x, y, verbose):
        for epoch in range(60):
            error = x @ w - y
            gradient = x.T @ error / len(y)
            w = w - 0.1 * gradient
            if verbose and epoch % 20 == 0:
                print(f"epoch {epoch}: loss {np.mean(error**2):.5f}")
        return w

    w, y = np.zeros(2), np.array([1.0, 2.0])
    return f, [(w, C / 4, y, True), (w + 1, C / 4, y, True), (w, C / 4, y, False)], None


@program
def newton_with_a_report() -> Any:
    def f(x):
        history = []
        for k in range(4):
            step = (x**3 - 2) / (3 * x**2)
            x = x - step
            history.append(f"{k}: x={x:.6f}, step={step:+.1e}")
        return x, history, "\n".join(history)

    return f, [(1.0,), (2.0,), (1.25,)], None


@program
def loops_collect_lines() -> Any:
    def f(x):
        lines = []
        for k in range(30):
            x = x / 2
            lines.append(f"{k:02d} {x:.3e}")
        return lines

    return f, [(1.0,), (2.0,), (1e10,)], None


@program
def messages_of_errors_that_are_caught() -> Any:
    def f(x):
        try:
            if x.ndim == 1:
                raise ValueError(f"one dimension, sum {x.sum()}")
            return x.sum()
        except ValueError as e:
            print("caught:", e)
            return f"{e} {type(e).__name__}"

    return f, [(A + 0,), (A + 1,), (C + 0,)], None


@program
def prints_within_a_try() -> Any:
    def f(x, i):
        try:
            print("value", x[0])
            y = float(x[0]) / 2
        except ZeroDivisionError:
            print("never")
            y = 0.0
        finally:
            print("finally", i)
        return y

    return f, [(A + 0, 1), (A + 1, 2), (B + 0, 3)], None


@program
def text_decides_by_truth() -> Any:
    def f(x):
        note = f"{x[0]:.1f}"
        if note:
            print("note", note)
        return x if note and x.size else -x

    return f, [(A + 0,), (A + 1,), (B + 0,)], None


@program
def length_of_text_decides() -> Any:
    def f(x):
        text = f"{x:.1f}"
        return "=" * len(text), text.startswith("1"), text == "1.5", "5" in text, text.count(".")

    return f, [(1.5,), (22.5,), (-1.0,)], None


@program
def prints_in_functions_and_lambdas() -> Any:
    def show(label, *values, **options):
        print(f"{label}:", *values, **options)

    def f(x):
        show("sum", x.sum())
        show("parts", x[0], x[1], sep="; ")
        (lambda v: print("lambda", v))(x[2])
        [print(k, end=" ") for k in range(3)]
        print()
        return x

    return f, [(A + 0,), (A + 1,), (B + 0,)], None


@program
def nothing_is_printed_in_vain() -> Any:
    def f(x, n):
        for k in range(n):
            if x[0] > 100:
                print("never", k)
        while x[1] > 50:
            print("never either")
            x = x / 2
        return x

    return f, [(A + 0, 2), (A + 1, 3), (A + 49, 1)], None


@program
def numbers_that_are_either_kind() -> Any:
    def f(x):
        return f"{max(0, x[0])} {min(x[1], 2)} {0 if x[0] > 1 else x[1]}"

    return f, [(A + 0,), (A + 1,), (A - 5,)], None


@program
def generator_of_text() -> Any:
    def lines(x):
        for k, v in enumerate(x):
            yield f"{k}={v:g}"

    def f(x):
        print(", ".join(lines(x)))
        return " ".join("%5.2f" % v for v in x), ";".join(map(str, x)), "{}-{}".format(*x[:2])

    return f, [(A + 0,), (A + 1,), (B + 0,)], None
