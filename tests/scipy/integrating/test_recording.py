"""Events, dense output and all steps: SciPy's own results, and derivatives of the times of events."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate as si

import tracejit as tj
from tracejit.errors import SolverRoomError

TIMES = np.linspace(0, 3, 20)


def ground(t, y):
    return y[0]


def apex(t, y):
    return y[1]


ground.terminal = True  # type: ignore[attr-defined]
ground.direction = -1  # type: ignore[attr-defined]


def thrown(v: Any, **options: Any) -> Any:
    """A body thrown upwards, until it is on the ground again. (Rounding of the estimated error changes steps by some
    1e-7 of them here.)"""
    options = {"events": [ground, apex], "rtol": 1e-8, "atol": 1e-8} | options
    return si.solve_ivp(lambda t, y: [y[1], -9.81 - 0.1 * y[1]], (0, 100), [0.0, v], **options)


def check(got: Any, want: Any) -> None:
    assert type(got) is type(want)
    if isinstance(want, dict):
        assert list(got) == list(want)
        for key in want:
            check(got[key], want[key])
    elif isinstance(want, list):
        assert len(got) == len(want)
        for a, b in zip(got, want, strict=True):
            check(a, b)
    elif isinstance(want, np.ndarray):
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=3e-6, atol=1e-8)
    elif isinstance(want, si.OdeSolution):
        check(got.ts, want.ts)
        check([got.n_segments, got.ascending, got.side], [want.n_segments, want.ascending, want.side])
        assert type(got.interpolants[0]) is type(want.interpolants[0])
        for t in (np.linspace(want.t_min - 0.1, want.t_max + 0.1, 30), want.ts, 0.3):
            check(got(t), want(t))
    else:
        assert got == want


@pytest.mark.sample(6)
@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853"])
@pytest.mark.parametrize("options", [{}, {"t_eval": TIMES}, {"t_eval": TIMES, "dense_output": True}])
def test_what_scipy_gives(method: str, options: Any) -> None:
    """A result that leaves the program is SciPy's, `sol` too."""
    check(tj.jit(lambda v: thrown(v, method=method, **options))(10.0), thrown(10.0, method=method, **options))


def test_several_events_directions_and_counts() -> None:
    def high(t, y):
        return y[0] - 0.5

    high.terminal = 3  # type: ignore[attr-defined]

    def rising(t, y):
        return y[0]

    rising.direction = 1.0  # type: ignore[attr-defined]

    def swing(k: Any, end: float) -> Any:
        return si.solve_ivp(
            lambda t, y, k: [y[1], -k * y[0]],
            (0, end),
            [0.1, 1.0],
            args=(k,),
            events=(
                lambda t, y, k: high(t, y),
                lambda t, y, k: y[1],
                lambda t, y, k: rising(t, y) - 2 * y[0],
            ),
            dense_output=True,
        )

    for end in (6.0, -6.0):
        check(tj.jit(lambda k, end=end: swing(k, end))(3.0), swing(3.0, end))
    counted = lambda k: si.solve_ivp(
        lambda t, y: [y[1], -k * y[0]], (0, 9), [0.1, 1.0], events=(high, rising), rtol=1e-6
    )
    got = tj.jit(counted)(3.0)
    check(got, counted(3.0))
    assert got.status == 1 and got.message == "A termination event occurred." and got.t_events[0].size == 3


def test_nothing_happens() -> None:
    """SciPy's empty lists of states have one dimension, and an empty list of times is a list: Python gives them."""
    quiet = lambda v: thrown(v, events=lambda t, y: y[0] + 1e6, method="RK23", t_eval=np.array([1.0]))
    want, run = quiet(10.0), tj.jit(quiet, fallback=True)
    check(run(10.0), want)
    assert run(10.0).y_events[0].shape == (0,)
    early = lambda v: thrown(v, t_eval=np.array([50.0]))
    check(tj.jit(early, fallback=True)(10.0), early(10.0))
    sizes = tj.jit(lambda v: thrown(v, events=lambda t, y: y[0] + 1e6, method="RK23").t_events[0].size)
    assert sizes(10.0) == 0
    none = lambda v: si.solve_ivp(lambda t, y: -y, (v, v), [1.0], dense_output=True)
    check(tj.jit(none)(1.0), none(1.0))
    at = lambda v: si.solve_ivp(lambda t, y: -y, (v, v), [1.0], t_eval=np.array([1.0]))
    check(tj.jit(at, fallback=True)(1.0), at(1.0))


def test_derivatives_of_times_of_events() -> None:
    """Without the resistance of the air, 2 v / g."""

    def landing(v: Any) -> Any:
        return thrown(v).t_events[0][0]

    def frictionless(v: Any) -> Any:
        out = si.solve_ivp(lambda t, y: [y[1], -9.81], (0, 100), [0.0, v], events=ground, max_step=0.3)
        return out.t_events[0][0] ** 2

    want = (landing(10 + 1e-4) - landing(10 - 1e-4)) / 2e-4
    np.testing.assert_allclose(tj.jit(tj.grad(landing))(10.0), want, rtol=1e-5)
    np.testing.assert_allclose(tj.jit(tj.grad(tj.grad(frictionless)))(10.0), 8 / 9.81**2, rtol=1e-9)


@pytest.mark.sample(2)
@pytest.mark.parametrize("start, end", [(0.0, 2.0), (2.0, 0.0)])
def test_dense_output_at_its_ends_and_beyond(start: float, end: float) -> None:
    def at(v: Any, ts: Any) -> Any:
        return si.solve_ivp(lambda t, y: [y[1], -y[0]], (start, end), [0.3, v], dense_output=True).sol(ts)

    ts = np.array([-0.2, 0.0, 0.1, 1.1, 1.9, 2.0, 2.2])
    np.testing.assert_allclose(tj.jit(at)(1.5, ts), at(1.5, ts), rtol=1e-9)


def test_dense_output_inside() -> None:
    def height(v: Any, t: Any) -> Any:
        sol = thrown(v, dense_output=True, events=None, method="DOP853").sol
        return sol(t)[0] + sol(np.array([t, 2 * t]))[0].sum() + sol.t_max + sol.t_min + sol.n_segments

    np.testing.assert_allclose(tj.jit(height)(10.0, 0.4), height(10.0, 0.4), rtol=1e-9)
    slopes = tj.jit(tj.grad(height, argnums=(0, 1)))(10.0, 0.4)
    for n, step in enumerate(((1e-4, 0), (0, 1e-4))):
        up, down = (height(10 + s * step[0], 0.4 + s * step[1]) for s in (1, -1))
        np.testing.assert_allclose(slopes[n], (up - down) / 2e-4, rtol=1e-5)
    with pytest.raises(tj.errors.SolverOptionError, match="interpolants"):
        tj.jit(lambda v: thrown(v, dense_output=True).sol.interpolants)(10.0)


def test_vectorized_functions() -> None:
    def f(k: Any) -> Any:
        return si.solve_ivp(
            lambda t, y: k * y[::-1] * np.ones((1, y.shape[1])), (0, 1), [1.0, 2.0], vectorized=True
        )

    check(tj.jit(f)(0.5), f(0.5))


def test_terminal_must_be_a_number() -> None:
    def event(t, y):
        return y[0]

    event.terminal = 1.5  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="boolean or positive integer"):
        tj.jit(lambda v: thrown(v, events=event))(10.0)


def test_attributes_of_events_are_those_of_the_call() -> None:
    def event(t, y):
        return y[0]

    def end(v: Any) -> Any:
        return si.solve_ivp(lambda t, y: [y[1], -9.81], (0, 3), [0.1, v], events=event, max_step=0.2).t[-1]

    run = tj.jit(end)
    assert run(5.0) == 3
    event.terminal = True  # type: ignore[attr-defined]
    assert np.isclose(run(5.0), end(5.0)) and end(5.0) < 2
    event.direction = 1.0  # type: ignore[attr-defined]
    assert run(5.0) == end(5.0) == 3
    del event.direction  # type: ignore[attr-defined]
    assert np.isclose(run(5.0), end(5.0)) and end(5.0) < 2


def last_of_many(k: Any) -> Any:
    return si.solve_ivp(lambda t, y: [y[1], -k * y[0]], (0, 3), [1.0, 0.0], max_step=1e-3).y[0, -1]


def test_room_is_made_for_more_steps() -> None:
    f = tj.jit(lambda k: si.solve_ivp(lambda t, y: -k * y, (0, 3), [1.0], max_step=1e-3).y)
    want = si.solve_ivp(lambda t, y: -2.0 * y, (0, 3), [1.0], max_step=1e-3).y
    np.testing.assert_allclose(f(2.0), want, rtol=1e-10)
    np.testing.assert_allclose(f(3.0)[0, -1], np.exp(-9.0), rtol=1e-6)
    got = tj.jit(tj.grad(last_of_many))(2.0)
    np.testing.assert_allclose(got, -3 * np.sin(3 * 2**0.5) / (2 * 2**0.5), rtol=1e-6)


def test_outside_of_jit_there_is_room_for_so_many() -> None:
    with pytest.raises(SolverRoomError, match="2048 steps"):
        tj.grad(last_of_many)(2.0)


def test_lanes_with_other_numbers_of_steps_and_events() -> None:
    """Elements of what is as long as only the program knows, and `sol`."""

    def f(v: Any) -> Any:
        out = si.solve_ivp(
            lambda t, y: [y[1], -9.81],
            (0, 100),
            [0.0, v],
            events=[ground, apex],
            max_step=0.3,
            dense_output=True,
        )
        return np.stack(
            [out.t_events[0][0], out.y_events[1][-1, 0], out.t[-1], out.y[1, -1], out.sol(0.3)[0]]
        )

    speeds = np.array([5.0, 10.0])
    want = [f(v) for v in speeds]
    np.testing.assert_allclose(tj.jit(tj.vmap(f), fallback=False)(speeds), want, rtol=1e-9)
    slopes = tj.jit(tj.vmap(tj.jacobian(f)), fallback=False)(speeds)
    exact = [[2 / 9.81, v / 9.81, 2 / 9.81, -1.0, 0.3] for v in speeds]
    np.testing.assert_allclose(slopes, exact, rtol=1e-6)
