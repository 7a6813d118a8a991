"""Programs that draw random numbers."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np

from tests.programs.observe import program

A = np.arange(4.0)


@program
def global_functions() -> Any:
    def f(x):
        return x + np.random.rand(4) + np.random.normal() + np.random.randint(5)

    return f, [(A + 0,), (A + 1,), (A + 1,)], None


@program
def seeds_the_global_generator() -> Any:
    def f(n):
        np.random.seed(n)
        return np.random.standard_normal(3)

    return f, [(3,), (3,), (4,)], None


@program
def captured_generator() -> Any:
    rng = np.random.default_rng(1)
    return lambda x: x * rng.normal(size=x.shape), [(A,), (A,), (A[:2],)], lambda: rng


@program
def captured_random_state() -> Any:
    rng = np.random.RandomState(1)
    return lambda x: x * rng.rand(), [(A,), (A,), (A[:2],)], lambda: rng


@program
def generator_as_an_argument() -> Any:
    rng = np.random.default_rng(2)
    return lambda x, g: (x + g.random(), g), [(A, rng), (A, rng), (A, np.random.default_rng(5))], lambda: rng


@program
def generator_as_a_keyword_default() -> Any:
    def f(x, rng=np.random.default_rng(3)):
        return rng.permutation(x)

    return f, [(A,), (A,), (A,)], lambda: f.__defaults__


@program
def generator_of_an_object() -> Any:
    class Noise:
        def __init__(self):
            self.rng, self.count = np.random.default_rng(4), 0

        def __call__(self, x):
            self.count += 1
            return x + self.rng.uniform(-1, 1, len(x))

    noise = Noise()
    return noise.__call__, [(A,), (A,), (A,)], lambda: (noise.rng, noise.count)


@program
def seeded_inside() -> Any:
    def f(x, seed):
        rng = np.random.default_rng(seed)
        return x + rng.normal(size=4), rng.integers(10)

    return f, [(A, 1), (A, 1), (A, 2)], None


@program
def seeded_inside_by_a_constant() -> Any:
    def f(x):
        rng = np.random.default_rng(0)
        w = rng.normal(size=(4, 2))
        rng.shuffle(w)
        return x @ w, rng

    return f, [(A,), (A + 1,), (A + 2,)], None


@program
def seed_of_a_name_that_changes() -> Any:
    seed = [0]

    def f(x):
        return x + np.random.default_rng(seed[0]).random()

    def before(n):
        seed[0] = n

    return f, [(A,), (A,), (A,)], lambda: seed, before


@program
def unseeded_shapes_only() -> Any:
    return lambda x: np.random.default_rng().random(len(x)).shape, [(A,), (A,), (A[:1],)], None


@program
def the_random_module() -> Any:
    def f(x):
        return x * random.random() + random.randint(1, 6), random.choice([1.0, 2.0])

    return f, [(A,), (A,), (A,)], None


@program
def random_instance() -> Any:
    rng = random.Random(5)
    return lambda x: x * rng.gauss(0, 1), [(A,), (A,), (A,)], lambda: rng


@program
def random_seeded_inside() -> Any:
    def f(x):
        rng = random.Random(8)
        order = list(range(4))
        rng.shuffle(order)
        return x[order]

    return f, [(A,), (A + 1,), (A * 2,)], None


@program
def shuffles_an_argument() -> Any:
    def f(x):
        np.random.shuffle(x)
        return x[0]

    return f, [(A.copy(),), (A.copy(),), (np.arange(12).reshape(4, 3),)], None


@program
def shuffles_a_list_argument() -> Any:
    def f(xs):
        random.shuffle(xs)
        return xs[0] * 2

    return f, [([1.0, 2.0, 3.0],), ([1.0, 2.0, 3.0],), ([4, 5, 6, 7],)], None


@program
def choices_with_weights() -> Any:
    def f(x):
        p = x / x.sum()
        return np.random.choice(len(x), size=3, p=p), random.choices([1, 2, 3], weights=[1, 1, 5], k=2)

    return f, [(A,), (A + 1,), (A + 2,)], None


@program
def draws_under_a_condition() -> Any:
    rng = np.random.default_rng(6)

    def f(x):
        if x > 1:
            return x + rng.random()
        return x

    return f, [(0.5,), (2.0,), (3.0,)], lambda: rng


@program
def draws_in_a_branch_not_taken() -> Any:
    def f(x, noisy=False):
        if noisy:
            x = x + np.random.rand()
        return x * 2

    return f, [(A, False), (A, True), (A, False)], None


@program
def monte_carlo_pi() -> Any:
    def f(n):
        inside = 0
        for _ in range(n):
            a, b = np.random.random(), np.random.random()
            if a * a + b * b < 1:
                inside += 1
        return 4 * inside / n

    return f, [(20,), (20,), (30,)], None


@program
def bootstrap_of_the_mean() -> Any:
    rng = np.random.default_rng(7)

    def f(x, n):
        means = np.empty(n)
        for i in range(n):
            sample = x[rng.integers(0, len(x), len(x))]
            means[i] = sample.mean()
        low, high = np.percentile(means, [5, 95])
        return means.mean(), low, high

    return f, [(A, 10), (A * 2, 10), (A + 1, 5)], lambda: rng


@program
def metropolis() -> Any:
    rng = np.random.default_rng(8)
    accepted: list[bool] = []

    def log_density(x):
        return -0.5 * np.sum(x**2)

    def f(x, steps, width):
        chain = []
        current = log_density(x)
        for _ in range(steps):
            proposal = x + width * rng.normal(size=x.shape)
            new = log_density(proposal)
            ok = np.log(rng.random()) < new - current
            if ok:
                x, current = proposal, new
            accepted.append(bool(ok))
            chain.append(x.copy())
        return np.array(chain), sum(accepted) / len(accepted)

    return f, [(A[:2], 6, 0.5), (A[:2], 6, 5.0), (A[:3], 4, 1.0)], lambda: (rng, accepted)


@program
def simulated_annealing() -> Any:
    def cost(order, places):
        total = 0.0
        for a, b in itertools.pairwise(order):
            total += np.hypot(*(places[a] - places[b]))
        return total

    def f(places, steps=8):
        random.seed(11)
        order = list(range(len(places)))
        best, value, temperature = list(order), cost(order, places), 1.0
        lowest = value
        for _ in range(steps):
            i, j = random.sample(range(len(order)), 2)
            order[i], order[j] = order[j], order[i]
            new = cost(order, places)
            if new < value or random.random() < np.exp((value - new) / temperature):
                value = new
                if value < lowest:
                    best, lowest = list(order), value
            else:
                order[i], order[j] = order[j], order[i]
            temperature *= 0.9
        return best, lowest

    rng = np.random.default_rng(9)
    return f, [(rng.random((4, 2)),), (rng.random((4, 2)),), (rng.random((5, 2)),)], None


@program
def dropout_in_training_only() -> Any:
    class Layer:
        def __init__(self):
            self.rng = np.random.default_rng(12)
            self.w = self.rng.normal(size=(4, 3))
            self.training = True
            self.mask = None

        def forward(self, x):
            y = np.maximum(x @ self.w, 0)
            if self.training:
                self.mask = self.rng.random(y.shape) < 0.5
                y = y * self.mask / 0.5
            return y

    layer = Layer()

    def before(n):
        layer.training = n != 1

    return layer.forward, [(A,), (A + 1,), (A + 2,)], lambda: vars(layer), before


@program
def generator_state_is_saved_and_set() -> Any:
    rng = np.random.default_rng(13)

    def f(x):
        state = rng.bit_generator.state
        a = rng.random()
        rng.bit_generator.state = state
        return x + a, rng.random() == a

    return f, [(A,), (A,), (A,)], lambda: rng


@program
def spawned_generators() -> Any:
    def f(x, seed):
        parts = np.random.SeedSequence(seed).spawn(2)
        return [x + np.random.default_rng(p).normal() for p in parts]

    return f, [(A, 1), (A, 2), (A, 1)], None


@program
def global_state_around() -> Any:
    def f(x):
        state = np.random.get_state()
        np.random.seed(0)
        y = x + np.random.rand()
        np.random.set_state(state)
        return y

    return f, [(A,), (A,), (A,)], None


@program
def generator_in_a_container() -> Any:
    tools = {"rng": np.random.default_rng(14), "scale": [2.0]}

    def f(x):
        tools["scale"][0] *= 2
        return x + tools["scale"][0] * tools["rng"].exponential()

    return f, [(A,), (A,), (A,)], lambda: tools


@program
def generator_by_a_helper() -> Any:
    rng = np.random.default_rng(15)

    def draw(n):
        return rng.choice(n)

    helper = {"draw": draw}.get("draw")
    return lambda x: x[helper(len(x))], [(A,), (A,), (A[:2],)], lambda: rng


@program
def bound_method_of_a_generator() -> Any:
    rng = np.random.default_rng(16)
    draw = rng.random
    return lambda x: x + draw(len(x)), [(A,), (A,), (A,)], lambda: rng


@program
def iterates_draws() -> Any:
    rng = np.random.default_rng(17)

    def f(x):
        return sum(v * x for v in iter(lambda: round(rng.random(), 1), 0.5)) + 0 * x

    return f, [(A,), (A,), (A,)], lambda: rng


@program
def random_walk_until_out() -> Any:
    def f(limit):
        random.seed(limit)
        position, steps = 0, 0
        while abs(position) < limit and steps < 50:
            position += 1 if random.random() < 0.5 else -1
            steps += 1
        return position, steps

    return f, [(2,), (3,), (2,)], None


@program
def genetic_algorithm() -> Any:
    def f(population, generations):
        rng = np.random.default_rng(len(population))
        history = []
        for _ in range(generations):
            fitness = -np.abs(population - 3).sum(axis=1)
            order = np.argsort(fitness)[::-1]
            parents = population[order[: len(population) // 2]]
            children = parents + rng.normal(scale=0.1, size=parents.shape)
            cut = int(rng.integers(1, population.shape[1]))
            children[:, cut:] = parents[::-1, cut:]
            population = np.vstack([parents, children])
            history.append(float(fitness.max()))
        return population, history

    rng = np.random.default_rng(18)
    return f, [(rng.random((4, 3)), 3), (rng.random((4, 3)), 3), (rng.random((6, 2)), 2)], None
