"""What happens step after step, gathered in Python lists."""

import numpy as np

from examples.programs import program


@program(lambda rng, n: (1.0 + rng.random(), 0.2, 0.1, 20 * n))
def pendulum_path(angle, speed, damping, steps):
    """A damped pendulum by Verlet's method: its path, and the energy along it."""
    angles, speeds, energies = [angle], [speed], []
    dt = 0.02
    for _ in range(steps):
        force = -np.sin(angles[-1]) - damping * speeds[-1]
        half = speeds[-1] + 0.5 * dt * force
        angles.append(angles[-1] + dt * half)
        speeds.append(half + 0.5 * dt * (-np.sin(angles[-1]) - damping * half))
        energies.append(0.5 * speeds[-1] ** 2 - np.cos(angles[-1]))
    return np.array(angles), np.array(energies)


@program(lambda rng, n: (rng.normal(size=8 * n).cumsum(),))
def autocorrelation(x):
    """Of a signal, for all lags up to half its length."""
    n = len(x)
    y = x - x.mean()
    return np.array([np.sum(y[: n - lag] * y[lag:]) for lag in range(n // 2)]) / np.sum(y * y)


@program(lambda rng, n: (rng.normal(size=(5 * n, 2)).cumsum(axis=0), 0.05, 0.3))
def tracking(positions, wander, noise):
    """A point in the plane, tracked by a filter with velocities; how surprising each position is."""
    move = np.eye(4)
    move[0, 2] = move[1, 3] = 1.0
    see = np.eye(2, 4)
    state, spread = np.zeros(4), np.eye(4)
    estimates, variances, surprises = [], [], []
    for seen in positions:
        state = move @ state
        spread = move @ spread @ move.T + wander * np.eye(4)
        error = seen - see @ state
        scatter = see @ spread @ see.T + noise * np.eye(2)
        gain = np.linalg.solve(scatter, see @ spread).T
        state = state + gain @ error
        spread = spread - gain @ see @ spread
        estimates.append(state)
        variances.append(np.diag(spread))
        surprises.append(0.5 * error @ np.linalg.solve(scatter, error))
    return np.array(estimates), np.stack(variances), sum(surprises)


@program(lambda rng, n: (rng.random(n), 3.9, 10 * n), tolerance=1e-9)
def ensemble_statistics(population, growth, steps):
    """Populations that grow and compete: mean and spread of the ensemble at every step."""
    history = []
    for _ in range(steps):
        population = growth * 0.25 * population * (1 - population) + 0.01
        history.append((population.mean(), population.std()))
    means, spreads = zip(*history)
    return np.array(history), np.array(means).max(), np.array(spreads)[-1]


@program(lambda rng, n: (rng.random((n, 3)), rng.random((n, 3)), 0.3))
def nearest_distances(points, others, softness):
    """Soft distances of points from a cloud, in both directions."""

    def soft(p, cloud):
        d2 = np.sum((cloud - p) ** 2, axis=1)
        return -softness * np.log(np.sum(np.exp(-d2 / softness)))

    there = np.array([soft(p, others) for p in points])
    back = np.array([soft(q, points) for q in others])
    table = np.array([[np.sum(np.abs(p - q)) for q in others] for p in points])
    return there.mean() + back.mean(), table
