"""Programs that draw random numbers, as people write them: simulations, samplers, training, resampling."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

from tests.programs.observe import program

A = np.arange(1.0, 7.0)


@program
def monte_carlo_pi_by_a_generator() -> Any:
    rng = np.random.default_rng(1)

    def f(n):
        inside = 0
        for _ in range(n):
            x, y = rng.random(), rng.random()
            if x * x + y * y <= 1.0:
                inside += 1
        return 4.0 * inside / n

    return f, [(500,), (500,), (90,)], lambda: rng


@program
def monte_carlo_pi_by_arrays() -> Any:
    rng = np.random.default_rng(2)
    return (
        lambda n: 4 * np.mean(np.sum(rng.random((n, 2)) ** 2, axis=1) < 1),
        [(50,), (50,), (20,)],
        lambda: rng,
    )


@program
def monte_carlo_pi_by_the_random_module() -> Any:
    def f(n):
        inside = 0
        for _ in range(n):
            if math.hypot(random.random(), random.random()) < 1:
                inside += 1
        return 4 * inside / n

    return f, [(300,), (300,), (40,)], None


@program
def paths_of_an_option() -> Any:
    rng = np.random.default_rng(3)

    def f(spot, strike, rate, sigma, steps, paths):
        dt = 1.0 / steps
        s = np.full(paths, spot)
        highest = s.copy()
        for _ in range(steps):
            z = rng.standard_normal(paths)
            s = s * np.exp((rate - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * z)
            highest = np.maximum(highest, s)
        payoff = np.maximum(s - strike, 0)
        return np.exp(-rate) * payoff.mean(), payoff.std() / np.sqrt(paths), highest.max()

    calls = [(100.0, k, 0.02, 0.3, 12, 30) for k in (90.0, 110.0, 130.0)]
    return f, calls, lambda: rng


@program
def walk_until_out() -> Any:
    rng = np.random.default_rng(4)

    def f(limit):
        position, steps = 0.0, 0
        while abs(position) < limit:
            position += rng.normal()
            steps += 1
        return position, steps

    return f, [(3.0,), (5.0,), (0.0,)], lambda: rng


@program
def walk_by_choices() -> Any:
    rng = np.random.default_rng(5)

    def f(n):
        moves = np.array([[0, 1], [1, 0], [0, -1], [-1, 0]])
        at = np.zeros((n + 1, 2), int)
        for i in range(n):
            at[i + 1] = at[i] + moves[rng.integers(4)]
        return at, len(at)

    return f, [(30,), (30,), (5,)], lambda: rng


@program
def metropolis_hastings() -> Any:
    rng = np.random.default_rng(6)

    def log_density(x):
        return -0.5 * np.sum(x**2) - 0.1 * np.sum(x**4)

    def f(start, steps, width):
        x, accepted = start.copy(), 0
        chain = np.empty((steps, len(start)))
        current = log_density(x)
        for i in range(steps):
            proposal = x + rng.normal(0.0, width, size=len(start))
            new = log_density(proposal)
            if np.log(rng.random()) < new - current:
                x, current = proposal, new
                accepted += 1
            chain[i] = x
        return chain.mean(axis=0), accepted / steps

    return f, [(A[:2], 60, 0.5), (A[:2], 60, 2.0), (A[:3], 20, 1.0)], lambda: rng


@program
def gibbs_of_a_normal_pair() -> Any:
    rng = np.random.RandomState(7)

    def f(rho, n):
        x = y = 0.0
        total = 0.0
        for _ in range(n):
            x = rng.normal(rho * y, np.sqrt(1 - rho**2))
            y = rng.normal(rho * x, np.sqrt(1 - rho**2))
            total += x * y
        return total / n

    return f, [(0.5, 40), (0.9, 40), (0.0, 7)], lambda: rng


@program
def bootstrap_of_a_median() -> Any:
    rng = np.random.default_rng(8)

    def f(x, n):
        found = np.empty(n)
        for i in range(n):
            found[i] = np.median(rng.choice(x, size=len(x)))
        return found.std(), np.sort(found)[n // 2]

    return f, [(A, 25), (A * 2, 25), (A[:4], 9)], lambda: rng


@program
def permutation_test() -> Any:
    rng = np.random.default_rng(9)

    def f(a, b, n):
        both = np.concatenate([a, b])
        observed = a.mean() - b.mean()
        beyond = 0
        for _ in range(n):
            mixed = rng.permutation(both)
            if abs(mixed[: len(a)].mean() - mixed[len(a) :].mean()) >= abs(observed):
                beyond += 1
        return (beyond + 1) / (n + 1)

    return f, [(A, A + 1, 40), (A, A, 40), (A[:3], A + 5, 9)], lambda: rng


@program
def dropout_and_noise() -> Any:
    rng = np.random.default_rng(10)

    def f(x, w, rate):
        h = np.maximum(x @ w, 0)
        mask = rng.random(h.shape) >= rate
        h = h * mask / (1 - rate)
        return h + rng.normal(scale=0.1, size=h.shape)

    w = np.linspace(-1, 1, 18).reshape(6, 3)
    return f, [(A, w, 0.5), (A, w, 0.1), (A[None], w, 0.3)], lambda: rng


@program
def descent_on_shuffled_batches() -> Any:
    rng = np.random.default_rng(11)
    x = np.linspace(0, 1, 24).reshape(12, 2)
    y = x @ np.array([2.0, -1.0]) + 0.5

    def f(epochs, rate):
        w, b = np.zeros(2), 0.0
        order = np.arange(len(x))
        for _ in range(epochs):
            rng.shuffle(order)
            for start in range(0, len(x), 4):
                batch = order[start : start + 4]
                error = x[batch] @ w + b - y[batch]
                w = w - rate * x[batch].T @ error / 4
                b = b - rate * error.mean()
        return w, b, np.mean((x @ w + b - y) ** 2)

    return f, [(5, 0.1), (5, 0.2), (3, 0.1)], lambda: rng


@program
def annealing_of_a_function() -> Any:
    rng = np.random.default_rng(12)

    def energy(x):
        return (x - 1.0) ** 2 + 0.3 * np.cos(8 * x)

    def f(x, steps):
        best, lowest, temperature = x, energy(x), 1.0
        current = lowest
        for _ in range(steps):
            y = x + rng.uniform(-0.5, 0.5)
            e = energy(y)
            if e < current or rng.random() < np.exp((current - e) / temperature):
                x, current = y, e
            if current < lowest:
                best, lowest = x, current
            temperature *= 0.95
        return best, lowest

    return f, [(np.float64(3.0), 60), (np.float64(-2.0), 60), (np.float64(1.0), 5)], lambda: rng


@program
def gillespie_of_births_and_deaths() -> Any:
    rng = np.random.default_rng(13)

    def f(n, birth, death, end):
        t, events = 0.0, 0
        while n > 0:
            total = n * (birth + death)
            t += rng.exponential(1.0 / total)
            if t > end:
                break
            if rng.random() * total < n * birth:
                n += 1
            else:
                n -= 1
            events += 1
        return n, events, t

    return f, [(10, 0.5, 0.6, 3.0), (10, 0.2, 0.9, 5.0), (1, 0.1, 2.0, 9.0)], lambda: rng


@program
def percolation_from_the_top() -> Any:
    rng = np.random.default_rng(14)

    def f(n, p):
        open_sites = rng.random((n, n)) < p
        full = np.zeros((n, n), bool)
        full[0] = open_sites[0]
        for _ in range(n * n):
            grown = full.copy()
            grown[1:] |= full[:-1] & open_sites[1:]
            grown[:-1] |= full[1:] & open_sites[:-1]
            grown[:, 1:] |= full[:, :-1] & open_sites[:, 1:]
            grown[:, :-1] |= full[:, 1:] & open_sites[:, :-1]
            if (grown == full).all():
                break
            full = grown
        return full[-1].any(), full.sum()

    return f, [(6, 0.5), (6, 0.7), (6, 0.9)], lambda: rng


@program
def bandit_with_some_exploring() -> Any:
    rng = np.random.default_rng(15)

    def f(means, steps, epsilon):
        value, count = np.zeros(len(means)), np.zeros(len(means), int)
        reward_sum = 0.0
        for _ in range(steps):
            if rng.random() < epsilon:
                arm = rng.integers(len(means))
            else:
                arm = np.argmax(value)
            reward = rng.normal(means[arm], 1.0)
            count[arm] += 1
            value[arm] += (reward - value[arm]) / count[arm]
            reward_sum += reward
        return value, count, reward_sum / steps

    return f, [(A[:4], 60, 0.1), (A[:4] / 2, 60, 0.5), (A[:4], 10, 0.0)], lambda: rng


@program
def thompson_sampling() -> Any:
    rng = np.random.default_rng(16)

    def f(chances, steps):
        wins, losses = np.ones(len(chances)), np.ones(len(chances))
        for _ in range(steps):
            arm = np.argmax(rng.beta(wins, losses))
            if rng.random() < chances[arm]:
                wins[arm] += 1
            else:
                losses[arm] += 1
        return wins, losses

    return f, [(A[:3] / 8, 30), (A[:3] / 4, 30), (A[:3] / 8, 4)], lambda: rng


@program
def first_centers_of_k_means() -> Any:
    rng = np.random.default_rng(17)

    def f(points, k):
        centers = np.empty((k, points.shape[1]))
        centers[0] = points[rng.integers(len(points))]
        nearest = np.sum((points - centers[0]) ** 2, axis=1)
        for j in range(1, k):
            chosen = rng.choice(len(points), p=nearest / nearest.sum())
            centers[j] = points[chosen]
            nearest = np.minimum(nearest, np.sum((points - centers[j]) ** 2, axis=1))
        return centers, nearest.sum()

    points = np.random.default_rng(0).normal(size=(20, 2))
    return f, [(points, 3), (points * 2, 3), (points[:9], 2)], lambda: rng


@program
def rejection_sampling() -> Any:
    rng = np.random.default_rng(18)

    def f(n, a):
        out, tries = np.empty(n), 0
        for i in range(n):
            while True:
                x = rng.uniform(0, 1)
                tries += 1
                if rng.uniform(0, 1) < x**a:
                    break
            out[i] = x
        return out, tries

    return f, [(10, 1.0), (10, 3.0), (4, 0.5)], lambda: rng


@program
def reservoir_of_a_stream() -> Any:
    def f(stream, k):
        kept = stream[:k].copy()
        for i in range(k, len(stream)):
            j = np.random.randint(0, i + 1)
            if j < k:
                kept[j] = stream[i]
        return kept

    return f, [(np.arange(30), 4), (np.arange(30) * 2, 4), (np.arange(9), 3)], None


@program
def coin_flips_of_the_random_module() -> Any:
    def f(n, p):
        run = longest = 0
        for _ in range(n):
            if random.random() < p:
                run += 1
                longest = max(longest, run)
            else:
                run = 0
        return longest

    return f, [(200, 0.5), (200, 0.9), (20, 0.5)], None


@program
def dice_until_six() -> Any:
    dice = random.Random(19)

    def f(games):
        total = 0
        for _ in range(games):
            while dice.randint(1, 6) != 6:
                total += 1
        return total / games

    return f, [(30,), (30,), (7,)], lambda: dice


@program
def gaussian_walk_of_the_random_module() -> Any:
    rng = random.Random(20)

    def f(n, mu, sigma):
        x = 0.0
        for _ in range(n):
            x += rng.gauss(mu, sigma)
            x = x * rng.uniform(0.9, 1.0)
        return x

    return f, [(30, 0.0, 1.0), (30, 0.5, 2.0), (5, 0, 1)], lambda: rng


@program
def ising_sweeps() -> Any:
    rng = np.random.default_rng(21)

    def f(spins, beta, steps):
        n = len(spins)
        for _ in range(steps):
            i, j = rng.integers(n), rng.integers(n)
            around = spins[(i + 1) % n, j] + spins[i - 1, j] + spins[i, (j + 1) % n] + spins[i, j - 1]
            change = 2 * spins[i, j] * around
            if change <= 0 or rng.random() < np.exp(-beta * change):
                spins[i, j] = -spins[i, j]
        return spins.sum()

    return f, [(np.ones((4, 4)), b, 80) for b in (0.1, 0.4, 1.0)], lambda: rng


@program
def queue_of_customers() -> Any:
    rng = np.random.default_rng(22)

    def f(arrival, service, n):
        arrived = free = waited = 0.0
        for _ in range(n):
            arrived += rng.exponential(1 / arrival)
            start = max(arrived, free)
            waited += start - arrived
            free = start + rng.exponential(1 / service)
        return waited / n

    return f, [(0.8, 1.0, 60), (0.5, 1.0, 60), (2.0, 1.0, 9)], lambda: rng


@program
def jumps_of_a_poisson_process() -> Any:
    rng = np.random.default_rng(23)

    def f(rate, years):
        loss = 0.0
        for _ in range(years):
            for _ in range(rng.poisson(rate)):
                loss += rng.lognormal(0.0, 1.0)
        return loss / years

    return f, [(2.0, 10), (0.5, 10), (3.0, 3)], lambda: rng


@program
def particle_filter() -> Any:
    rng = np.random.default_rng(24)

    def f(observed, count):
        x = rng.normal(0.0, 1.0, count)
        means = np.empty(len(observed))
        for t in range(len(observed)):
            x = 0.9 * x + rng.normal(0.0, 0.3, count)
            w = np.exp(-0.5 * (observed[t] - x) ** 2)
            w = w / w.sum()
            means[t] = np.sum(w * x)
            places = (rng.random() + np.arange(count)) / count
            x = x[np.minimum(np.searchsorted(np.cumsum(w), places), count - 1)]
        return means

    return f, [(np.sin(A), 20), (np.cos(A), 20), (A[:3], 10)], lambda: rng


@program
def a_failed_index_after_draws() -> Any:
    rng = np.random.default_rng(25)

    def f(x, i):
        noisy = x + rng.normal(size=len(x))
        return noisy[i] / rng.random()

    return f, [(A, 2), (A, 9), (A, -1)], lambda: rng


@program
def a_division_by_zero_after_draws_and_writes() -> Any:
    rng = np.random.default_rng(26)

    def f(x, d):
        x += rng.normal(size=len(x))
        y = 1.0 / d
        return y * rng.random()

    return f, [(A + 0, 2.0), (A + 0, 0.0), (A + 0, 3.0)], lambda: rng


@program
def parameters_that_numpy_refuses() -> Any:
    rng = np.random.default_rng(27)

    def f(scale, high, lam):
        return rng.normal(0.0, scale), rng.integers(high), rng.poisson(lam)

    return f, [(1.0, 5, 2.0), (-1.0, 5, 2.0), (1.0, 0, 2.0), (1.0, 3, -2.0), (2.0, 3, 1.0)], lambda: rng


@program
def generators_of_layers() -> Any:
    class Layer:
        def __init__(self, rng, n):
            self.rng, self.w = rng, rng.normal(size=(n, n))

        def __call__(self, x):
            return np.tanh(x @ self.w) + self.rng.normal(0, 0.1, x.shape)

    class Net:
        def __init__(self, seed):
            rng = np.random.default_rng(seed)
            self.layers = [Layer(rng, 3), Layer(rng, 3), Layer(np.random.default_rng(9), 3)]

        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    net = Net(28)
    return net.__call__, [(A[:3],), (A[3:],), (A[:3],)], lambda: vars(net)


@program
def another_generator_at_each_call() -> Any:
    class Holder:
        pass

    holder = Holder()
    holder.rng = np.random.default_rng(29)

    def before(n):
        holder.rng = [np.random.default_rng(n), np.random.default_rng(5), np.random.RandomState(1)][n]

    return (
        lambda x: x + holder.rng.random() + holder.rng.normal(),
        [(1.0,), (2.0,), (3.0,)],
        lambda: holder,
        before,
    )


@program
def known_numbers_then_loops() -> Any:
    def f(n):
        rng = np.random.default_rng(30)
        weights = rng.normal(size=3)
        weights[1] = n
        total = 0.0
        for _ in range(n):
            total += rng.random() * weights.sum()
        return total, rng.integers(10), weights

    return f, [(30,), (30,), (3,)], None


@program
def a_seed_for_each_step() -> Any:
    def f(n, seed):
        total = 0.0
        for i in range(n):
            rng = np.random.default_rng(seed + i)
            total += rng.normal() + rng.random()
        return total

    return f, [(20, 1), (20, 1), (5, 7)], None


@program
def children_of_a_generator() -> Any:
    rng = np.random.default_rng(31)

    def f(x):
        a, b = rng.spawn(2)
        return x + a.normal(size=6) - b.random()

    return f, [(A,), (A,), (A,)], None


@program
def comprehensions_and_helpers() -> Any:
    rng = np.random.default_rng(32)

    def noisy(v, scale=0.1, rng=rng):
        return v + scale * rng.standard_normal()

    def f(x, n):
        values = [noisy(v) for v in x]
        return sum(values), np.array([rng.exponential() for _ in range(n)]).max()

    return f, [(A, 4), (A + 1, 4), (A[:2], 3)], lambda: rng


@program
def random_conditions_of_loops() -> Any:
    rng = np.random.default_rng(33)

    def f(p):
        steps = 0
        while rng.random() < p and steps < 100:
            steps += 1
        return steps

    return f, [(0.9,), (0.5,), (0.99,)], lambda: rng


@program
def choices_of_lists() -> Any:
    rng = random.Random(34)

    def f(x):
        step = rng.choice([1.0, 2.0, 4.0])
        picked = rng.sample([10, 20, 30, 40], 2)
        order = [0, 1, 2, 3]
        rng.shuffle(order)
        return x * step + picked[0] - picked[1], order, rng.choices([1.0, 2.0], weights=[1, 3], k=2)

    return f, [(A,), (A,), (A,)], lambda: rng


@program
def single_precision_and_other_types() -> Any:
    rng = np.random.default_rng(35)

    def f(x):
        a = rng.random(6, dtype=np.float32) * x.astype(np.float32)
        return a, rng.integers(0, 9, 3, dtype=np.uint8), rng.standard_normal(dtype=np.float32), rng.bytes

    return lambda x: f(x)[:3], [(A,), (A,), (A,)], lambda: rng


@program
def distributions_of_scipy() -> Any:
    rng = np.random.default_rng(36)

    def f(a, n):
        import scipy.stats

        return scipy.stats.norm.cdf(a) + rng.gamma(2.0, a, n) + rng.triangular(0, a, 5, n)

    return f, [(1.0, 3), (2.0, 3), (1.5, 2)], lambda: rng
