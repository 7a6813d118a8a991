"""Fields, particles, chance."""

import math

import numpy as np

from examples.programs import program


@program(lambda rng, n: (rng.choice([-1, 1], size=(n, n)), rng.random((4, n, n)), 0.44))
def ising(spins, draws, beta):
    """Metropolis sweeps with numbers drawn before; energy and magnetisation after each."""
    n = spins.shape[0]
    history = np.zeros((len(draws), 2))
    for sweep, numbers in enumerate(draws):
        for i in range(n):
            for j in range(n):
                s = spins[i, j]
                field = spins[(i + 1) % n, j] + spins[i - 1, j] + spins[i, (j + 1) % n] + spins[i, j - 1]
                cost = 2 * s * field
                if cost <= 0 or numbers[i, j] < np.exp(-beta * cost):
                    spins[i, j] = -s
        energy = 0
        for i in range(n):
            for j in range(n):
                energy -= spins[i, j] * (spins[i - 1, j] + spins[i, j - 1])
        history[sweep] = energy, spins.sum()
    return history


class Plasma:
    """Particles that push each other away, in a box that throws them back."""

    def __init__(self, pos, vel, dt):
        self.pos, self.vel, self.dt = pos, vel, dt
        self.bounces = 0

    def accelerations(self):
        x, y = self.pos.T
        dx, dy = x[:, None] - x, y[:, None] - y
        inv_r3 = dx**2 + dy**2 + 0.01
        inv_r3[inv_r3 > 0] = inv_r3[inv_r3 > 0] ** (-1.5)
        return np.stack([(dx * inv_r3).sum(axis=1), (dy * inv_r3).sum(axis=1)], axis=1)

    def step(self):
        self.vel += self.accelerations() * self.dt
        self.pos += self.vel * self.dt
        outside = np.abs(self.pos) > 2
        self.vel[outside] *= -1
        self.bounces += int(outside.sum())


@program(lambda rng, n: (rng.normal(size=(n, 2)), rng.normal(size=(n, 2)), 30))
def plasma(pos, vel, steps):
    system = Plasma(pos, vel, 0.05)
    for _ in range(steps):
        system.step()
    return 0.5 * np.sum(system.vel**2), system.bounces


@program(lambda rng, n: (1 + 0.1 * rng.random((9, n, n)), 1.2, 6), wrt=(0, 1), tolerance=1e-11)
def lattice_boltzmann(F, omega, steps):
    """Streams along nine directions, then relaxes towards equilibrium."""
    cx = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
    cy = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
    weights = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    equilibrium = np.empty_like(F)
    for _ in range(steps):
        for k in range(9):
            F[k] = np.roll(np.roll(F[k], cx[k], axis=1), cy[k], axis=0)
        rho = F.sum(axis=0)
        ux = np.tensordot(cx, F, axes=1) / rho
        uy = np.tensordot(cy, F, axes=1) / rho
        for k in range(9):
            along = cx[k] * ux + cy[k] * uy
            np.multiply(
                weights[k] * rho,
                1 + 3 * along + 4.5 * along**2 - 1.5 * (ux**2 + uy**2),
                out=equilibrium[k],
            )
        F -= omega * (F - equilibrium)
    return np.sum(rho * (ux**2 + uy**2))


def pressure(p, b, dx, dy):
    for _ in range(4):
        pn = p.copy()
        p[1:-1, 1:-1] = ((pn[1:-1, 2:] + pn[1:-1, :-2]) * dy**2 + (pn[2:, 1:-1] + pn[:-2, 1:-1]) * dx**2) / (
            2 * (dx**2 + dy**2)
        ) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0


@program(
    lambda rng, n: (6, 0.01 * rng.normal(size=(n, n)), 0.01 * rng.normal(size=(n, n)), 0.1), wrt=(1, 2, 3)
)
def cavity_flow(steps, u, v, nu):
    """Air in a box whose lid moves."""
    rho, dt = 1.0, 0.001
    dx = dy = 2 / (u.shape[0] - 1)
    p = np.zeros_like(u)
    b = np.zeros_like(u)
    for _ in range(steps):
        un, vn = u.copy(), v.copy()
        du_dx = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)
        dv_dy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)
        shear = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
        b[1:-1, 1:-1] = rho * ((du_dx + dv_dy) / dt - du_dx**2 - 2 * shear - dv_dy**2)
        pressure(p, b, dx, dy)
        for q, qn, slope in (
            (u, un, (p[1:-1, 2:] - p[1:-1, :-2]) / (2 * dx)),
            (v, vn, (p[2:, 1:-1] - p[:-2, 1:-1]) / (2 * dy)),
        ):
            q[1:-1, 1:-1] = (
                qn[1:-1, 1:-1]
                - un[1:-1, 1:-1] * dt / dx * (qn[1:-1, 1:-1] - qn[1:-1, :-2])
                - vn[1:-1, 1:-1] * dt / dy * (qn[1:-1, 1:-1] - qn[:-2, 1:-1])
                - dt / rho * slope
                + nu * dt / dx**2 * (qn[1:-1, 2:] - 2 * qn[1:-1, 1:-1] + qn[1:-1, :-2])
                + nu * dt / dy**2 * (qn[2:, 1:-1] - 2 * qn[1:-1, 1:-1] + qn[:-2, 1:-1])
            )
        for edge in (np.s_[0, :], np.s_[:, 0], np.s_[:, -1]):
            u[edge] = v[edge] = 0
        u[-1, :], v[-1, :] = 1, 0
    return np.sum(u**2) + np.sum(v**2) + np.sum(p**2) / 1e4


@program(lambda rng, n: (rng.uniform(0.5, 1.5, size=2), 1e-7), tolerance=1e-11)
def runge_kutta_fehlberg(start, tolerance):
    """Prey and predators with steps as long as the error allows; final state, steps taken and thrown away."""
    a = [[], [1 / 4], [3 / 32, 9 / 32], [1932 / 2197, -7200 / 2197, 7296 / 2197]]
    a += [[439 / 216, -8, 3680 / 513, -845 / 4104], [-8 / 27, 2, -3544 / 2565, 1859 / 4104, -11 / 40]]
    fourth = [25 / 216, 0, 1408 / 2565, 2197 / 4104, -1 / 5, 0]
    fifth = [16 / 135, 0, 6656 / 12825, 28561 / 56430, -9 / 50, 2 / 55]

    def slope(y):
        return np.array([y[0] * (1.1 - 0.4 * y[1]), y[1] * (0.1 * y[0] - 0.4)])

    t, end, h = 0.0, 3.0, 0.1
    y = start.copy()
    taken = rejected = 0
    while t < end:
        h = min(h, end - t)
        ks = []
        for row in a:
            ks.append(slope(y + h * sum((c * k for c, k in zip(row, ks)), np.zeros(2))))
        error = h * np.max(np.abs(sum((p - q) * k for p, q, k in zip(fourth, fifth, ks))))
        if error <= tolerance:
            t += h
            y = y + h * sum(q * k for q, k in zip(fifth, ks))
            taken += 1
        else:
            rejected += 1
        h *= min(4.0, max(0.1, 0.9 * (tolerance / max(error, 1e-300)) ** 0.2))
    return y, taken, rejected


@program(lambda rng, n: (rng.normal(size=(2 * n, n)), 100.0, 95.0, 0.2), wrt=(1, 2, 3))
def asian_option(normals, spot, strike, volatility):
    """Monte Carlo, path by path: the mean price decides, and a barrier ends a path."""
    paths, steps = normals.shape
    dt = 1.0 / steps
    total = 0.0
    for path in normals:
        price, mean = spot, 0.0
        for z in path:
            price *= np.exp((0.02 - 0.5 * volatility**2) * dt + volatility * np.sqrt(dt) * z)
            if price > 180.0:
                break
            mean += price / steps
        else:
            total += max(mean - strike, 0.0)
    return np.exp(-0.02) * total / paths


@program(lambda rng, n: (rng.uniform(50, 150, n), rng.uniform(80, 120, n), 0.02, 0.3))
def call_options(spots, strikes, rate, volatility):
    """Black and Scholes' prices of calls that end in a year, one by one, by the functions of `math`."""
    prices = np.empty_like(spots)
    for n in range(len(spots)):
        d1 = (math.log(spots[n] / strikes[n]) + rate) / volatility + 0.5 * volatility
        d2 = d1 - volatility
        up = 0.5 * (1.0 + math.erf(d1 / math.sqrt(2.0)))
        down = 0.5 * (1.0 + math.erf(d2 / math.sqrt(2.0)))
        prices[n] = spots[n] * up - strikes[n] * math.exp(-rate) * down
    return prices


@program(lambda rng, n: (rng.normal(size=n), rng.normal(size=n), 0.3), wrt=(0, 1, 2))
def kernel_density(points, samples, width):
    """The logarithm of a density that is estimated from samples, summed over points."""
    total = 0.0
    for a in range(len(points)):
        density = 0.0
        for b in range(len(samples)):
            density += math.exp(-0.5 * ((points[a] - samples[b]) / width) ** 2)
        total += math.log(density / (len(samples) * width))
    return total


@program(lambda rng, n: (100.0, 105.0, 0.03, 0.25, 3 * n), wrt=(0, 1, 2, 3), static=(4,))
def american_put(spot, strike, rate, volatility, steps):
    """A binomial tree that is folded from its leaves."""
    dt = 1.0 / steps
    up = np.exp(volatility * np.sqrt(dt))
    p = (np.exp(rate * dt) - 1 / up) / (up - 1 / up)
    discount = np.exp(-rate * dt)
    prices = spot * up ** np.arange(-steps, steps + 1, 2.0)
    values = np.maximum(strike - prices, 0.0)
    for k in range(steps, 0, -1):
        values[:k] = discount * (p * values[1 : k + 1] + (1 - p) * values[:k])
        prices[:k] *= up
        np.maximum(values[:k], strike - prices[:k], out=values[:k])
    return values[0]


@program(lambda rng, n: (rng.normal(size=(3 * n, 2)), np.ones(3 * n), 0.7, 0.1), wrt=(0, 1))
def far_and_near_forces(pos, mass, near, softening):
    """Near particles act one by one, far ones as cells of a grid with a mass each."""
    n, cells = len(pos), 4
    low = pos.min(axis=0)
    width = (pos.max(axis=0) - low) * (1 + 1e-9) / cells
    which = ((pos - low) / width).astype(np.int64)
    grid = np.zeros((cells, cells))
    centre = np.zeros((cells, cells, 2))
    np.add.at(grid, (which[:, 0], which[:, 1]), mass)
    for k in range(n):
        centre[which[k, 0], which[k, 1]] += mass[k] * pos[k]
    total = 0.0
    for k in range(n):
        force = np.zeros(2)
        for i in range(cells):
            for j in range(cells):
                if grid[i, j] == 0:
                    continue
                if abs(i - which[k, 0]) <= 1 and abs(j - which[k, 1]) <= 1:
                    continue
                d = centre[i, j] / grid[i, j] - pos[k]
                force += grid[i, j] * d / (d @ d + softening) ** 1.5
        for m in range(n):
            if abs(which[m] - which[k]).max() <= 1:
                d = pos[m] - pos[k]
                force += mass[m] * d / (d @ d + softening) ** 1.5
        total += force @ force
    return total
