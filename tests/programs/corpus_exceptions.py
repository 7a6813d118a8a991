"""Programs that raise, catch, clean up and go on."""

# ruff: noqa: B012, E722, RET504
from __future__ import annotations

import contextlib
import warnings
from typing import Any

import numpy as np

from tests.programs.observe import program

A, S = np.arange(3.0), np.array([[1.0, 2.0], [2.0, 4.0]])


class Custom(Exception):
    """Takes other arguments than it hands to its parent."""

    def __init__(self, code, *, data=None):
        super().__init__(f"code {code}")
        self.code, self.data = code, data


class Strict(ValueError):
    """A ValueError with two arguments."""

    def __init__(self, a, b):
        self.a, self.b = a, b
        super().__init__(a, b)


@program
def raises_a_custom_one_by_value() -> Any:
    def f(x):
        if x[0] > 1:
            raise Custom(int(x[0]), data=x)
        return x * 2

    return f, [(A,), (A + 2,), (A + 3,)], None


@program
def raises_by_shape() -> Any:
    def f(x):
        if x.shape[0] != 3:
            raise Strict(x.shape, "three")
        return x.sum()

    return f, [(A,), (A[:2],), (A + 1,)], None


@program
def raises_always() -> Any:
    def f(x):
        raise RuntimeError("always", x.shape, x[0])

    return f, [(A,), (A + 1,), (A[:1],)], None


@program
def catches_its_own() -> Any:
    def f(x):
        try:
            if x.sum() > 4:
                raise Custom(3, data=x * 2)
        except Custom as e:
            return e.data + e.code
        else:
            return x
        finally:
            x[0] = -1.0

    return f, [(A.copy(),), (A + 2,), (A.copy() * 0,)], None


@program
def chained_with_from() -> Any:
    def f(x, d):
        try:
            return x * d["scale"]
        except KeyError as e:
            raise Custom(7, data=list(d)) from e

    return f, [(A, {"scale": 2.0}), (A, {"size": 2.0}), (A, {})], None


@program
def raise_from_none_and_context() -> Any:
    def f(x):
        try:
            try:
                [][int(x)]
            except IndexError:
                raise ValueError("second") from None
        except ValueError as e:
            return e.__cause__ is None, e.__suppress_context__, type(e.__context__).__name__

    return f, [(1,), (2.0,), (3,)], None


@program
def reraises_after_noting() -> Any:
    seen: list[str] = []

    def f(x, i):
        try:
            return x[i]
        except IndexError as e:
            seen.append(type(e).__name__)
            raise
        finally:
            seen.append("done")

    return f, [(A, 1), (A, 5), (A, -4)], lambda: seen


@program
def index_error_is_an_answer() -> Any:
    def f(x, i):
        try:
            return x[i]
        except IndexError:
            return -1.0

    return f, [(A, 1), (A, 5), (A, -4)], None


@program
def index_error_by_traced_array() -> Any:
    def f(x, i):
        try:
            y = x[i] * 2
        except IndexError as e:
            return str(e)
        return y.sum()

    return f, [(A, np.array([0, 1])), (A, np.array([0, 7])), (A, np.array([-3, 2]))], None


@program
def index_error_while_filling() -> Any:
    def f(x, out):
        n = 0
        try:
            for v in x:
                out[n] = v * v
                n += 1
        except IndexError:
            return n, "full"
        return n, "fits"

    return f, [(A, np.zeros(3)), (A, np.zeros(2)), (A[:1], np.zeros(2))], None


@program
def key_error_and_default() -> Any:
    table = {1: 2.0}

    def f(k, x):
        try:
            return table[k] * x
        except KeyError as e:
            table[k] = float(k)
            return e.args[0] + x

    return f, [(1, A), (2, A), (2, A)], lambda: table


@program
def division_by_zero_of_numbers() -> Any:
    def f(a, b):
        try:
            return a / b
        except ZeroDivisionError as e:
            return str(e)

    return f, [(1, 2), (1, 0), (1.0, 0)], None


@program
def floor_division_by_zero_of_floats() -> Any:
    def f(a, b):
        try:
            return a // b, a % b
        except ZeroDivisionError:
            return None
        finally:
            b += 1

    return f, [(1.0, 2.0), (1.0, 0.0), (5, 3)], None


@program
def attribute_error_decides() -> Any:
    def f(x):
        try:
            return x.foo
        except AttributeError:
            return x.real * 2

    return f, [(A,), (A + 1,), (3.0,)], None


@program
def type_error_decides() -> Any:
    def f(x):
        try:
            n = len(x)
        except TypeError:
            return x + 1
        return n + x

    return f, [(A,), (2.0,), (np.float64(3),)], None


@program
def shapes_that_do_not_fit() -> Any:
    def f(x, y):
        try:
            return x + y
        except ValueError as e:
            return str(e)

    return f, [(A, A), (A, np.ones(4)), (S, A)], None


@program
def swallows_everything() -> Any:
    def f(x):
        try:
            if x[0] > 0:
                x = x / 0 if x.ndim > 1 else x.undefined
        except Exception:
            pass
        return x

    return f, [(A,), (A + 1,), (S,)], None


@program
def bare_except_around_float() -> Any:
    def f(x):
        try:
            y = float(x)
        except:
            y = -1.0
        return y

    return f, [(np.float64(2),), (A,), (np.array([5.0]).sum(),)], None


@program
def int_of_infinity() -> Any:
    def f(x):
        try:
            return int(x)
        except (OverflowError, ValueError) as e:
            return type(e).__name__

    return f, [(2.5,), (np.inf,), (np.nan,)], None


@program
def assert_with_text() -> Any:
    def f(x):
        assert x.min() >= 0, f"negative: {x.min()}"
        return np.sqrt(x)

    return f, [(A,), (A - 1,), (A + 1,)], None


@program
def assert_caught() -> Any:
    def f(x):
        try:
            assert (x < 2).all()
        except AssertionError as e:
            return e.args
        return x.sum()

    return f, [(A,), (A - 1,), (A * 5,)], None


@program
def context_manager_that_swallows() -> Any:
    class Guard:
        def __init__(self):
            self.log = []

        def __enter__(self):
            self.log.append("in")
            return self

        def __exit__(self, kind, value, tb):
            self.log.append(kind.__name__ if kind else "fine")
            return kind is ValueError

    guard = Guard()

    def f(x):
        y = x
        with guard:
            if x.sum() > 3:
                raise ValueError("large")
            y = x * 10
        return y

    return f, [(A,), (A + 1,), (A - 1,)], lambda: guard.log


@program
def context_manager_made_inside() -> Any:
    class Scale:
        def __init__(self, x):
            self.x = x

        def __enter__(self):
            self.x *= 2
            return self.x

        def __exit__(self, *error):
            self.x /= 2
            return False

    def f(x):
        with Scale(x) as y:
            total = y.sum()
            if total > 8:
                raise Custom(1)
        return total

    return f, [(A.copy(),), (A + 5,), (A + 0.5,)], None


@program
def generator_as_context_manager() -> Any:
    log: list[str] = []

    @contextlib.contextmanager
    def timed(name):
        log.append(f"start {name}")
        try:
            yield len(log)
        finally:
            log.append("stop")

    def f(x):
        with timed("f") as n:
            return x[n]

    return f, [(A,), (A,), (A,)], lambda: log


@program
def suppress_and_exit_stack() -> Any:
    def f(x, i):
        done = []
        with contextlib.ExitStack() as stack:
            stack.callback(done.append, 1)
            stack.callback(done.append, 2)
            with contextlib.suppress(IndexError):
                x = x * 2
                x = x[i] + x
        return x, done

    return f, [(A, 0), (A, 9), (A, -1)], None


@program
def singular_matrix() -> Any:
    def f(a, b):
        try:
            return np.linalg.solve(a, b)
        except np.linalg.LinAlgError as e:
            return np.linalg.lstsq(a, b, rcond=None)[0], str(e)

    return f, [(np.eye(2), A[:2]), (S, A[:2]), (S + np.eye(2), A[:2])], None


@program
def jitter_until_cholesky_works() -> Any:
    def f(a):
        jitter = 1e-3
        for attempt in range(6):
            try:
                return np.linalg.cholesky(a + jitter * np.eye(len(a))), attempt
            except np.linalg.LinAlgError:
                jitter *= 10
        raise Custom(2, data=jitter)

    return f, [(S,), (S - 2 * np.eye(2),), (-1000 * np.eye(2),)], None


@program
def inverse_or_none() -> Any:
    def f(a):
        try:
            inv = np.linalg.inv(a)
        except np.linalg.LinAlgError:
            return None
        else:
            return inv
        finally:
            a += 1

    return f, [(np.eye(2),), (S.copy(),), (S + np.eye(2),)], None


@program
def stop_iteration_by_hand() -> Any:
    def f(x):
        it = iter([1.0, 2.0, 3.0])
        total = 0.0
        while True:
            try:
                total += next(it) * x
            except StopIteration:
                break
        return total, next(iter([]), "empty")

    return f, [(1.0,), (2.0,), (A,)], None


@program
def stop_iteration_escapes() -> Any:
    def f(x, n):
        it = iter(x.tolist()[:n])
        return [next(it), next(it)]

    return f, [(A, 3), (A, 2), (A, 1)], None


@program
def generator_that_raises() -> Any:
    def parts(x):
        for i in range(3):
            if x[i] < 0:
                raise Custom(i)
            yield x[i] * 2

    def f(x):
        total = 0.0
        try:
            for p in parts(x):
                total += p
        except Custom as e:
            return total, e.code
        return total, None

    return f, [(A,), (A - 1,), (A - 0.5,)], None


@program
def writes_then_raises_in_a_loop() -> Any:
    def f(x):
        for i in range(len(x)):
            x[i] += 10
            if x[i] > 11.5:
                raise ValueError(f"at {i}")
        return x.sum()

    return f, [(A - 5,), (A.copy(),), (A + 4,)], None


@program
def writes_then_fails_statically() -> Any:
    def f(x, y):
        x += 1
        return x @ y

    return f, [(A.copy(), A), (A.copy(), np.ones(2)), (A.copy(), np.ones((3, 2)))], None


@program
def appends_then_raises() -> Any:
    log: list[Any] = []

    def f(x):
        log.append(x * 2)
        if len(log) == 2:
            raise Custom(len(log))
        return len(log)

    return f, [(A,), (A,), (A,)], lambda: log


@program
def finally_with_return() -> Any:
    def f(x):
        try:
            if x > 1:
                raise ValueError("lost")
            return "first"
        finally:
            if x < 5:
                return "last"

    return f, [(0.5,), (2.0,), (7.0,)], None


@program
def finally_with_continue_and_break() -> Any:
    def f(x):
        total = 0.0
        for v in x:
            try:
                if v == 1:
                    continue
                total += v
            finally:
                total += 0.5
            if total > 3:
                break
        else:
            total = -total
        return total

    return f, [(A,), (A + 1,), (A * 0,)], None


@program
def errstate_that_raises() -> Any:
    def f(x):
        try:
            with np.errstate(divide="raise"):
                return 1 / x
        except FloatingPointError as e:
            return str(e)

    return f, [(A + 1,), (A,), (A - 1,)], None


@program
def errstate_of_outside() -> Any:
    def f(x):
        try:
            return np.log(x)
        except FloatingPointError:
            return "log of zero"

    def g(x):
        with np.errstate(all="raise"):
            return f(x)

    return g, [(A + 1,), (A,), (A - 1,)], None


@program
def warnings_turned_into_errors_of_outside() -> Any:
    def f(x):
        if x[0] > 0:
            warnings.warn("positive", UserWarning, stacklevel=1)
        return x

    def g(x):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            return f(x)

    return g, [(A,), (A + 1,), (A,)], None


@program
def arguments_of_an_exception_hold_arrays() -> Any:
    def f(x):
        y = x * 2
        try:
            raise Strict(y, x)
        except Strict as e:
            return e.args[0] + e.b

    return f, [(A,), (A + 1,), (A + 2,)], None


@program
def array_of_an_exception_escapes() -> Any:
    def f(x):
        raise Strict(x * 2, float(x[1]))

    return f, [(A,), (A + 1,), (A + 2,)], None


@program
def exception_groups() -> Any:
    def f(x):
        errors = [ValueError(f"{i}") if i % 2 else KeyError(i) for i, v in enumerate(x) if v > 1]
        try:
            if errors:
                raise ExceptionGroup("some", errors)
        except* ValueError as group:
            x = x + len(group.exceptions)
        except* KeyError:
            x = x * 2
        return x

    return f, [(A,), (A + 1,), (A + 2,)], None


@program
def exception_group_escapes() -> Any:
    def f(x):
        raise ExceptionGroup("two", [ValueError(1), Custom(int(x[0]))])

    return f, [(A,), (A + 1,), (A + 2,)], None


@program
def keyboard_interrupt_passes() -> Any:
    def inner(x):
        try:
            if x.sum() > 3:
                raise KeyboardInterrupt("stop")
        except Exception:
            return "swallowed"
        return x

    def f(x):
        try:
            return inner(x)
        except BaseException as e:
            return type(e).__name__, str(e)

    return f, [(A,), (A + 1,), (A + 2,)], None


@program
def system_exit_with_an_array() -> Any:
    def f(x):
        try:
            raise SystemExit(x * 2)
        except SystemExit as e:
            return e.code

    return f, [(A,), (A + 1,), (A + 2,)], None


@program
def generator_exit_cleans_up() -> Any:
    log: list[str] = []

    def numbers():
        try:
            while True:
                yield 1.0
        finally:
            log.append("closed")

    def f(x):
        it = numbers()
        total = next(it) + next(it) + x
        it.close()
        return total

    return f, [(1.0,), (2.0,), (3.0,)], lambda: log


@program
def retries_with_backoff() -> Any:
    class Service:
        def __init__(self):
            self.calls, self.failures = 0, 2

        def ask(self, x):
            self.calls += 1
            if self.failures > 0:
                self.failures -= 1
                raise ConnectionError(f"call {self.calls}")
            return x * self.calls

    service = Service()

    def f(x, tries=3):
        waited, errors = 0.0, []
        for attempt in range(tries):
            try:
                answer = service.ask(x)
            except ConnectionError as e:
                errors.append(str(e))
                waited += 2.0**attempt
            else:
                return answer, waited, errors
            finally:
                waited += 0.25
        raise TimeoutError(waited, errors)

    return f, [(A,), (A + 1,), (A, 0)], lambda: vars(service)


@program
def validated_pipeline() -> Any:
    class Invalid(Exception):
        def __init__(self, stage, reason):
            super().__init__(stage, reason)
            self.stage, self.reason = stage, reason

    counts = {"ok": 0, "failed": 0}

    def check(x):
        if x.ndim != 1:
            raise Invalid("check", "ndim")
        if not np.isfinite(x).all():
            raise Invalid("check", "finite")
        return x

    def scale(x):
        spread = x.max() - x.min()
        if spread == 0:
            raise Invalid("scale", "flat")
        return (x - x.min()) / spread

    def f(x):
        try:
            for stage in (check, scale, np.sort):
                x = stage(x)
        except Invalid as e:
            counts["failed"] += 1
            return {"failed": e.stage, "why": e.reason}
        except Exception as e:
            raise RuntimeError("unexpected") from e
        counts["ok"] += 1
        return {"result": x}

    return f, [(A,), (np.array([1.0, np.nan]),), (np.ones(3),)], lambda: counts


@program
def bank_account_with_rollback() -> Any:
    class Overdrawn(Exception):
        def __init__(self, missing):
            self.missing = missing

    balance = np.array([100.0, 50.0])
    log: list[str] = []

    def transfer(amount, a, b):
        before = balance.copy()
        try:
            balance[a] -= amount
            balance[b] += amount
            if balance[a] < 0:
                raise Overdrawn(-balance[a])
        except Overdrawn:
            balance[:] = before
            log.append("rolled back")
            raise
        log.append("moved")
        return balance.sum()

    return transfer, [(30.0, 0, 1), (500.0, 1, 0), (80.0, 1, 0)], lambda: (balance, log)


@program
def newton_that_may_fail() -> Any:
    class NoConvergence(ArithmeticError):
        def __init__(self, x, steps):
            super().__init__(f"no root near {x:.2f} in {steps} steps")
            self.x, self.steps = x, steps

    def newton(x, steps=20):
        for k in range(steps):
            slope = 2 * x
            if slope == 0:
                raise ZeroDivisionError("flat")
            new = x - (x * x - 2) / slope
            if abs(new - x) < 1e-10:
                return new, k
            x = new
        raise NoConvergence(x, steps)

    def f(start, steps):
        try:
            root, k = newton(start, steps)
        except ZeroDivisionError:
            root, k = newton(start + 1.0, steps)
        return root, k

    return f, [(1.0, 20), (0.0, 20), (1000.0, 3)], None


@program
def parser_with_recovery() -> Any:
    def f(tokens, scale):
        stack, errors = [], []
        for position, token in enumerate(tokens):
            try:
                if token in "+-*/":
                    b, a = stack.pop(), stack.pop()
                    stack.append({"+": a + b, "-": a - b, "*": a * b}[token] if token != "/" else a / b)
                else:
                    stack.append(float(token) * scale)
            except ValueError as e:
                errors.append((position, str(e)))
            except (IndexError, KeyError, ZeroDivisionError) as e:
                errors.append((position, type(e).__name__))
                stack.clear()
        return stack, errors

    return f, [(["1", "2", "+"], 1.0), (["1", "+", "x", "2", "3", "*"], 2.0), (["1", "0", "/", "4"], 3)], None


@program
def nested_cleanup_order() -> Any:
    log: list[str] = []

    class Resource:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            log.append(f"+{self.name}")
            return self

        def __exit__(self, kind, value, tb):
            log.append(f"-{self.name}:{kind.__name__ if kind else ''}")
            return self.name == "b" and kind is KeyError

    def f(x, key):
        total = x
        with Resource("a"):
            with Resource("b") as b, Resource("c"):
                total = total + {"one": 1.0, "two": 2.0}[key]
                log.append(b.name)
            if total.sum() > 10:
                raise Custom(9, data=total)
        return total

    return f, [(A, "one"), (A, "three"), (A + 5, "two")], lambda: log


@program
def except_name_is_deleted() -> Any:
    def f(x):
        e = x
        try:
            raise ValueError
        except ValueError as e:  # noqa: F841
            pass
        return e

    return f, [(A,), (A + 1,), (A + 2,)], None


@program
def unbound_in_one_branch() -> Any:
    def f(x):
        if x > 1:
            y = x * 2
        return y

    return f, [(2.0,), (0.5,), (3.0,)], None


@program
def recursion_too_deep() -> Any:
    def down(x, n):
        return x if n == 0 else down(x + 1, n - 1)

    def f(x, n):
        try:
            return down(x, n)
        except RecursionError:
            return "deep"

    return f, [(1.0, 3), (1.0, 5), (2.0, 10**6)], None


@program
def notes_and_attributes() -> Any:
    def f(x):
        try:
            raise Custom(1)
        except Custom as e:
            e.add_note("noted")
            e.data = x * 3
            return e.__notes__, e.data

    return f, [(A,), (A + 1,), (A + 2,)], None


@program
def overflow_of_python_floats() -> Any:
    def f(x):
        try:
            return x**400
        except OverflowError as e:
            return str(e)

    return f, [(1.5,), (10.0,), (2,)], None


@program
def conversion_of_text_fails() -> Any:
    def f(x, s):
        try:
            return x * float(s)
        except ValueError as e:
            return str(e)
        except TypeError as e:
            return "type", str(e)

    return f, [(A, "2"), (A, "two"), (A, None)], None
