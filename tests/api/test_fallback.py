"""Python takes over where jit can't follow: results, exceptions, writes and state are those of the plain function."""

from __future__ import annotations

import collections
import copy
import logging
import os
import sys
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.api import fallback
from tracejit.config import config
from tracejit.errors import FallbackWarning, StaticArgumentError, TracejitError, UnhashableStaticError

X = np.array([3.0, 1.0, 2.0])


@pytest.fixture(autouse=True)
def _on() -> Iterator[None]:
    with config.override(fallback=True):
        yield


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    """What a call does: (kind, type and repr of the result or the exception, the arguments afterwards)."""
    args = copy.deepcopy(args)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        try:
            out = f(*args)
        except Exception as e:
            return "raised", type(e), str(e), repr(e.__cause__), repr(e.__context__), repr(args)
    return "gave", type(out), repr(out), repr(args)


def item(x):
    return {"total": x.sum().as_integer_ratio()[0], "length": len(x)}


def swallows(x):
    try:
        return x.sum().as_integer_ratio()[0]
    except Exception:
        return -1.0


def swallows_all(x):
    try:
        return float(str(x.sum().as_integer_ratio()[0]))
    except:  # noqa: E722
        return -1.0


def suppresses(x):
    import contextlib

    found = -1.0
    with contextlib.suppress(Exception):
        found = x.sum().as_integer_ratio()[0]
    return found


def returns_in_finally(x):
    try:
        n = x.sum().as_integer_ratio()[0]
    finally:
        return n if "n" in locals() else -1.0  # noqa: B012


def raises_another(x):
    try:
        return x.sum().as_integer_ratio()[0]
    except TypeError as e:
        raise KeyError("no number") from e


def asks(x):
    return 1.0 if hasattr(x, "ctypes") and x.ctypes.data else 0.0


def raises_by_value(x):
    if x.sum() > 5:
        raise ValueError(f"too large: {x}")
    return x


def raises_with_cause(x):
    if x[0] > 1:
        try:
            {}["a"]
        except KeyError as e:
            raise RuntimeError("no entry") from e
    return x


class Odd(Exception):
    def __init__(self, what, where):
        super().__init__(f"{what} at {where}")
        self.where = where


def raises_own(x):
    if x[0] > 1:
        raise Odd("a peak", 0)
    return x


def asserts(x):
    if not x.sum() < 1:  # pytest writes asserts anew
        raise AssertionError("large")
    return x


def out_of_range(x):
    i = np.argmax(x) + 7
    return x[i]


def wrong_shapes(x):
    return x @ np.ones(5)


def singular(x):
    return np.linalg.inv(np.zeros((3, 3)) * x)


def undefined(x):
    return x + nothing_of_this_name  # noqa: F821


def writes_first(x):
    x[0] = 100.0
    return x.tolist()


def writes_then_raises(x):
    x[1] = 7.0
    if x.sum() > 5:
        raise ValueError("after the write")
    return x


PROGRAMS = [
    item, swallows, swallows_all, suppresses, returns_in_finally, raises_another, asks, raises_by_value,
    raises_with_cause, raises_own, asserts, out_of_range, wrong_shapes, singular, undefined, writes_first,
    writes_then_raises,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_as_plain_python(f: Callable[..., Any]) -> None:
    fast = tj.jit(f)
    for x in (X, 2 * X, X - 3.0):
        assert outcome(fast, x) == outcome(f, x)


def test_state_changes_once_a_call() -> None:
    history: list[float] = []

    def f(x):
        history.append(1.0)
        return x * (3 if id(x) else 0)

    fast = tj.jit(f)
    with pytest.warns(FallbackWarning):
        assert fast(2.0) == 6.0
    assert fast(2.0) == 6.0 and history == [1.0, 1.0]


def test_one_warning_a_function_that_names_line_reason_and_remedy() -> None:
    fast = tj.jit(item)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in (2, 3, 2):
            fast(np.ones(n))
    (w,) = caught
    text = str(w.message)
    assert w.category is FallbackWarning and w.filename == __file__
    assert f"{__file__}:{item.__code__.co_firstlineno + 1}" in text
    assert "a Python number is needed" in text and "fallback=False" in text
    assert fast.trace_count == 0


def test_a_warning_that_is_an_error_comes_before_any_effect() -> None:
    history = []

    def f(x):
        history.append(x.sum().as_integer_ratio()[0])
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(FallbackWarning):
            tj.jit(f)(X)
    assert history == []


def test_exceptions_of_the_function_itself_are_not_told() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for f in (undefined, wrong_shapes, raises_by_value, out_of_range):
            fast = tj.jit(f)
            for _ in range(2):
                with pytest.raises((NameError, ValueError, IndexError)) as e:
                    fast(X)
                assert not isinstance(e.value, TracejitError)
                assert traceback.extract_tb(e.value.__traceback__)[-1].filename == __file__


def test_a_name_that_is_defined_later_is_compiled_then() -> None:
    scope: dict[str, Any] = {}
    exec("def f(x):\n    return x * later", scope)
    fast = tj.jit(scope["f"])
    with pytest.raises(NameError):
        fast(X)
    scope["later"] = 2.0
    assert fast(X).tolist() == [6.0, 2.0, 4.0] and fast.trace_count == 1


def test_turned_off_it_is_an_error() -> None:
    for fast in (tj.jit(item, fallback=False), tj.jit(fallback=False)(swallows)):
        with pytest.raises(TracejitError, match="TJ102"):
            fast(X)
    with config.override(fallback=False):
        with pytest.raises(TracejitError, match="TJ102"):
            tj.jit(item)(X)
        with pytest.warns(FallbackWarning):
            assert tj.jit(swallows, fallback=True)(X) == 6.0


def test_compiled_checks_raise_pythons_exceptions_from_the_fast_path_too() -> None:
    def f(x, i):
        return x[i] * 2

    fast = tj.jit(f)
    for _ in range(4):
        assert fast(X, np.int64(1)) == 2.0
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 3") as e:
        fast(X, np.int64(7))
    assert type(e.value) is IndexError
    assert fast(X, np.int64(0)) == 6.0 and fast.trace_count == 1
    keyword = tj.jit(lambda x, *, i: x[i])
    for i in (1, 0, 2):
        assert keyword(X, i=np.int64(i)) == X[i]
    with pytest.raises(IndexError):
        keyword(X, i=np.int64(3))


def test_what_was_printed_is_not_printed_again(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x, i):
        tj.debug.print("once {}", i, ordered=True)
        return x[i]

    with pytest.raises(IndexError):
        tj.jit(f)(X, np.int64(9))
    assert capsys.readouterr().out.count("once") == 1


def test_callbacks_raise_what_they_raise() -> None:
    calls = []

    def host(x):
        calls.append(1)
        raise OSError("no disk")

    def f(x):
        return tj.pure_callback(host, tj.ShapeDtypeStruct((3,), np.float64), x)

    with pytest.raises(OSError, match="no disk"):
        tj.jit(f)(X)
    assert calls == [1]


def test_jit_of_grad_falls_back_to_the_eager_grad() -> None:
    def f(x):
        names = {True: 2.0, False: 3.0}
        return names[bool(x.sum() > 5)] * (x * x).sum()

    fast = tj.jit(tj.grad(f))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        assert fast(X).tolist() == tj.grad(f)(X).tolist() == (4 * X).tolist()
        assert fast(X - 1).tolist() == (6 * (X - 1)).tolist()


@pytest.mark.parametrize("transform", [tj.grad, tj.vmap, lambda f: lambda x: tj.jvp(f, (x,), (x,))])
def test_other_transformations_refuse_and_nobody_swallows_it(transform: Any) -> None:
    for f in (swallows, suppresses, swallows_all):
        for inner in (f, tj.jit(f)):
            x = X[None] if transform is tj.vmap else X
            with pytest.raises(TracejitError):
                transform(inner)(x)


def test_mistakes_in_the_use_of_jit_are_raised() -> None:
    with pytest.raises(UnhashableStaticError):
        tj.jit(lambda x, n: x, static_argnums=1)(X, [1])
    with pytest.raises(StaticArgumentError):
        tj.jit(lambda x: x, static_argnums=3)(X)


def test_reports_say_why() -> None:
    report = tj.explain(item)(X)
    assert "run by Python" in str(report) and "TJ102" in (report.fallback or "")
    assert tj.explain(lambda x: x * 2)(X).fallback is None


def test_caches_forget_what_was_refused() -> None:
    flag = [True]

    def f(x):
        return x.sum().as_integer_ratio()[0] if flag[0] else x * 1.0

    fast = tj.jit(f)
    with pytest.warns(FallbackWarning):
        assert fast(X) == 6.0
    flag[0] = False
    assert fast(X).tolist() == X.tolist()
    fast.clear_cache()
    assert fast(X).tolist() == X.tolist() and fast.trace_count == 1


LOG: list[str] = []
COUNTS = collections.Counter(a=2)
RNG = np.random.default_rng(5)


def prints(x):
    print("sum", x.sum())
    return x


def prints_in_a_branch(x):
    if x.sum() > 5:
        print("large", x)
    return x * 2


def logs(x):
    logging.getLogger("a test").warning("sum %s", x.sum())
    return x


def warns(x):
    warnings.warn(f"sum {x.sum()}", RuntimeWarning)
    return x


def text(x):
    return {f"{x.sum():.2f}": str(x), "r": repr(x[0])}


def key_of_text(x):
    names = {"6.0": 1.0, "12.0": 2.0}
    return names.get(str(x.sum()), -1.0)


def counts(x):
    return x * COUNTS["a"]


def draws(x):
    return x + RNG.normal()


def draws_unseeded(x):
    return bool(np.all(np.random.default_rng().normal(size=3) == np.random.default_rng().normal(size=3)))


def writes_a_file(x):
    with open(os.devnull, "w") as f:
        return f.write(str(x.sum()))


def evaluates(x):
    return eval("x.sum()", {"x": x})


def raises_floating_point_errors(x):
    with np.errstate(divide="raise"):
        return 1.0 / (x - x[0])


ACTING = [
    prints, prints_in_a_branch, logs, warns, text, key_of_text, counts, draws, draws_unseeded, writes_a_file, evaluates,
    raises_floating_point_errors,
]  # fmt: skip


@pytest.mark.parametrize("f", ACTING, ids=lambda f: f.__name__)
def test_what_acts_acts_at_every_call(f, capsys, caplog) -> None:
    seen = []
    for run in (f, tj.jit(f)):
        RNG.bit_generator.state = np.random.default_rng(5).bit_generator.state
        COUNTS["a"] = 2
        for n, x in enumerate((X, 2 * X, X)):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                seen.append([outcome(run, x), RNG.bit_generator.state["state"]])
            seen[-1].append([str(w.message) for w in told if w.category is not FallbackWarning])
            COUNTS["a"] = n
        seen[-1] += [capsys.readouterr().out, [r.getMessage() for r in caplog.records]]
        caplog.clear()
    assert seen[:3] == seen[3:]


def test_what_only_computes_is_compiled() -> None:
    def f(x):
        with np.errstate(divide="ignore"):
            y = 1.0 / x
        rng = np.random.default_rng(0)
        return y * sys.float_info.epsilon * len(os.sep) + rng.normal(size=3)

    fast = tj.jit(f, fallback=False)
    for _ in range(2):
        np.testing.assert_allclose(fast(X), f(X))


def test_texts_of_messages_are_no_texts_of_the_program() -> None:
    def f(x):
        if x.sum() < 0:
            raise ValueError(f"negative: {x.sum()}, {x}")
        return x

    fast = tj.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fast(X) is not None
        with pytest.raises(ValueError, match=r"negative: -6.0, \[-3. -1. -2.\]"):
            fast(-X)


def unrolled(xs):
    return [[(a - b) ** 2 for a in xs] for b in xs]


def test_what_takes_long_to_compile_is_given_up() -> None:
    xs = [float(n) for n in range(30)]
    fast = tj.jit(unrolled)
    with config.override(compile_budget=0.02), pytest.warns(FallbackWarning, match="TJ223"):
        assert fast(xs) == unrolled(xs)
    with config.override(compile_budget=0.02):  # and is not tried again
        assert fast(xs) == unrolled(xs) and fast.trace_count == 0
    with config.override(compile_budget=0):
        few = tj.jit(unrolled)
        assert few(xs[:5]) == unrolled(xs[:5]) and few.trace_count == 1


def divisors_of_many() -> int:
    total = 0
    for n in range(1, 20000):
        i = 1
        while i * i <= n:
            total += n % i == 0
            i += 1
    return total


def test_loops_that_record_nothing_are_given_up() -> None:
    """Their numbers are all known, and no equation looks at the time."""
    with config.override(compile_budget=0.2), pytest.warns(FallbackWarning, match="TJ223"):
        assert tj.jit(divisors_of_many)() == divisors_of_many()


def test_without_python_to_run_it_there_is_no_budget() -> None:
    with config.override(compile_budget=0.001, fallback=False):
        fast = tj.jit(unrolled)
        assert fast([1.0, 2.0, 4.0]) == unrolled([1.0, 2.0, 4.0]) and fast.trace_count == 1


@pytest.mark.parametrize("value", [-1, "ten", None, True])
def test_budgets_are_seconds(value: Any) -> None:
    with pytest.raises(TracejitError, match="seconds"):
        config.update("compile_budget", value)


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
@pytest.mark.parametrize(
    "x", [np.array(["b", "a"]), np.ma.array([1.0, 2.0], mask=[0, 1]), np.array([1, 10**30])]
)
def test_arguments_that_have_no_signature_are_pythons(x):
    f = tj.jit(np.sort, fallback=True)
    for _ in range(3):
        got = f(x)
        assert type(got) is type(x) and got.tolist() == np.sort(x).tolist()


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
def test_a_refusal_leaves_generators_as_they_were():
    rng = np.random.default_rng(3)

    def f(x, given):
        a = rng.random() + given.random()
        return x + a if f"{x.sum()}" else x

    want = [f(np.ones(2), np.random.default_rng(4)) for _ in range(2)]
    rng = np.random.default_rng(3)
    g = tj.jit(f, fallback=True)
    got = [g(np.ones(2), np.random.default_rng(4)) for _ in range(2)]
    assert np.array_equal(got, want)


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
def test_what_acts_is_refused_again_after_an_attempt(capsys):
    def f(x):
        for step in range(20):
            if step % 5 == 0:
                print(f"{step} {x.sum():.1f}")
            x = x * 0.5
        return x

    tj.jit(f, fallback=True)(np.ones(2))
    assert capsys.readouterr().out == "0 2.0\n5 0.1\n10 0.0\n15 0.0\n"


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
def test_read_only_arguments_raise_what_numpy_raises():
    def f(x):
        try:
            x[0] = 9.0
        except ValueError as e:
            return str(e)
        return "written"

    x = np.zeros(3)
    g = tj.jit(f, fallback=True)
    assert g(x) == f(x)
    x.flags.writeable = False
    assert g(x) == f(x) == "assignment destination is read-only"


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
def test_a_name_that_a_branch_deletes():
    def f(x):
        y = x * 2
        if x[0] > 0:
            del y
        try:
            return y
        except NameError:
            return "deleted"

    g = tj.jit(f, fallback=True)
    assert g(np.zeros(2)).tolist() == [0, 0] and g(np.ones(2)) == "deleted"


def test_exceptions_of_the_function_carry_nothing_of_ours():
    def f(x):
        x += 1
        if x.sum() > 3:
            raise ValueError("large")
        return x

    with pytest.raises(ValueError, match="large") as caught:
        tj.jit(f)(np.ones(4))
    assert vars(caught.value) == {}


def test_what_is_no_exception_is_raised_when_the_program_raises_it():
    def f(x, kind):
        if x.sum() > 10:
            raise kind
        return x * 2

    for kind in (KeyboardInterrupt, SystemExit, GeneratorExit):
        g = tj.jit(f)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FallbackWarning)
            assert np.array_equal(g(X, kind), X * 2)
            with pytest.raises(kind):
                g(X * 2, kind)


def test_an_error_inside_of_tracejit_is_called_that() -> None:
    """Python's result is right, but the warning says whose fault it is; exceptions of NumPy's are no such errors."""

    def broken(x):
        return None + x

    inside = str(Path(fallback.__file__).parent / "made_up.py")
    ours = types.FunctionType(broken.__code__.replace(co_filename=inside), {})
    for f, fails in ((ours, True), (broken, False), (lambda x: np.ones(3) @ np.ones(x), False)):
        with pytest.raises((TypeError, ValueError)) as caught:
            f(4)
        found = fallback.Refusal.of(caught.value)
        assert found is not None and (fallback.INSIDE in str(found)) == fails


def test_what_is_nested_too_deep_is_pythons() -> None:
    def deep(x: Any) -> Any:
        for _ in range(2000):
            x = [x]
        return x

    def first(x: Any) -> Any:
        while isinstance(x, list):
            x = x[0]
        return x

    held = deep(2.0)
    for f, x in (
        (lambda x: x * first(held), 1.0),
        (lambda x: first(x), held),
        (lambda x: deep(x * 2.0), 1.0),
    ):
        with pytest.warns(FallbackWarning, match="nested deeper than"):
            assert first(tj.jit(f, fallback=True)(x)) == 2.0
        with pytest.raises(tj.errors.UnfollowedError, match="nested deeper than"):
            tj.jit(f, fallback=False)(x)


def test_a_refusal_runs_nothing_in_the_place_of_an_exception_that_is_gone():
    log = []

    class Noted:
        def __enter__(self):
            log.append("in")

        def __exit__(self, kind, value, tb):
            log.append(kind)
            return kind is KeyError

    def f(x):
        with Noted():
            if x.sum() > 10:
                raise ValueError(9, x)  # has a traced value, and is gone when the refusal is raised
        return x

    for _ in range(20):
        with pytest.raises(tj.errors.CaughtCheckError):
            tj.jit(f, fallback=False)(np.arange(3.0))
    assert not log


def test_exceptions_of_the_users_leave_as_they_were_raised() -> None:
    def f(x: Any) -> Any:
        raise KeyError("no")

    for allowed in (True, False):
        with pytest.raises(KeyError) as found:
            tj.jit(f, fallback=allowed)(1.0)
        assert not vars(found.value)
