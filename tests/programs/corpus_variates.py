"""Programs that draw variates from distributions of SciPy's: from the generator of NumPy, from one of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats

from tests.programs.observe import program

st: Any = scipy.stats
CALLS = [(1.5,), (2.5,), (0.5,)]


@program
def noise_on_a_signal() -> Any:
    t = np.linspace(0, 1, 20)

    def f(x):
        return np.sin(x * t) + st.norm.rvs(scale=0.1, size=t.shape)

    return f, CALLS, None


@program
def a_walk_with_steps_of_a_distribution() -> Any:
    def f(x):
        at, path = 0.0, []
        for _ in range(30):
            at += st.norm.rvs(loc=x)
            path.append(at)
        return path

    return f, CALLS, None


@program
def counts_and_waiting_times() -> Any:
    def f(x):
        return st.poisson.rvs(3, size=4), st.expon.rvs(scale=x, size=4).cumsum(), st.bernoulli.rvs(0.3)

    return f, CALLS, None


@program
def draws_of_numpy_and_of_scipy() -> Any:
    def f(x):
        return np.random.normal(), st.uniform.rvs(0, x, size=(2, 2)), np.random.rand(2)

    return f, CALLS, None


@program
def a_seed_within() -> Any:
    def f(x):
        np.random.seed(3)
        return st.beta.rvs(2.0, 3.0, size=2) * x, np.random.rand()

    return f, CALLS, None


@program
def a_distribution_with_its_parameters() -> Any:
    def f(x):
        return st.norm(0, x).rvs(3), st.norm(x, 2.0).rvs(size=2, random_state=5)

    return f, CALLS, None


@program
def variates_of_vectors() -> Any:
    def f(x):
        z = st.multivariate_normal.rvs(np.zeros(2), np.array([[2.0, 0.5], [0.5, 1.0]]), size=5)
        return z @ np.array([x, 1.0])

    return f, CALLS, None


@program
def variates_in_a_branch() -> Any:
    def f(x):
        if x > 1:
            return st.norm.rvs(loc=x)
        return x

    return f, CALLS, None


@program
def a_scale_that_is_none() -> Any:
    def f(x):
        return st.norm.rvs(loc=x, scale=-1.0, size=2)

    return f, CALLS, None


@program
def the_generator_of_a_distribution_is_replaced() -> Any:
    def f(x):
        return st.norm.rvs(size=2) * x

    def before(n):
        st.norm.random_state = np.random.default_rng(n) if n == 1 else None

    return f, CALLS, None, before


@program
def a_distribution_of_outside_has_a_generator() -> Any:
    d = st.norm(0, 1.0)
    d.random_state = np.random.default_rng(5)

    def f(x):
        return d.rvs(size=2) * x

    return f, CALLS, None


@program
def a_generator_is_given_to_a_distribution() -> Any:
    d = st.gamma(2.0)

    def f(x):
        d.random_state = 3
        return d.rvs(size=2) * x

    return f, CALLS, None


@program
def waiting_times_of_a_rate_that_is_given() -> Any:
    def f(x):
        arrivals = np.cumsum(st.expon.rvs(scale=1 / x, size=12))
        return arrivals, (arrivals < 3).sum()

    return f, CALLS, None


@program
def claims_of_an_insurance() -> Any:
    def f(rate):
        total = 0.0
        for _ in range(20):
            n = st.poisson.rvs(rate)
            total += n * 10.0
        return total, isinstance(n, int)

    return f, CALLS, None


@program
def a_posterior_that_is_sampled() -> Any:
    def f(x):
        share = st.beta.rvs(1 + x, 2.0, size=200)
        return share.mean(), np.quantile(share, [0.05, 0.95])

    return f, CALLS, None


@program
def a_random_rotation_of_points() -> Any:
    points = np.arange(12.0).reshape(4, 3)

    def f(x):
        turn = st.special_ortho_group.rvs(3)
        return points @ turn.T * x, np.linalg.det(turn)

    return f, CALLS, None


@program
def directions_on_a_sphere() -> Any:
    def f(x):
        steps = st.uniform_direction.rvs(3, size=10)
        return (x * steps).sum(axis=0)

    return f, CALLS, None


@program
def noise_of_a_model_made_outside() -> Any:
    class Sensor:
        def __init__(self, spread):
            self.noise = st.norm(0.0, spread)

        def read(self, x):
            return x + self.noise.rvs(size=3)

    sensor = Sensor(0.5)
    return sensor.read, CALLS, None


@program
def a_generator_beside_a_distribution() -> Any:
    rng = np.random.default_rng(2)

    def f(x):
        return st.gamma.rvs(x, scale=x, size=3, random_state=rng), rng.normal()

    return f, CALLS, lambda: rng


@program
def a_coin_that_is_tossed_until_it_falls() -> Any:
    def f(x):
        tosses = 0
        while not st.bernoulli.rvs(0.3):
            tosses += 1
        return tosses * x

    return f, CALLS, None


@program
def generators_by_their_classes() -> Any:
    rng, other = np.random.default_rng(2), np.random.Generator(np.random.MT19937(1))
    state = np.random.RandomState(5)
    scales = {np.random.PCG64: 2.0, np.random.MT19937: 3.0}

    def f(x):
        bits = [type(g.bit_generator) for g in (rng, other)]
        if bits[0] is np.random.PCG64 and bits[1] is not bits[0] and type(state) is np.random.RandomState:
            x = x * scales[bits[1]]
        kinds = [isinstance(state, type(state)), issubclass(bits[0], np.random.PCG64), bits[0] in scales]
        return x * type(state)(3).normal(), kinds, [b.__name__ for b in bits], rng.normal()

    return f, CALLS, lambda: (rng, other)
