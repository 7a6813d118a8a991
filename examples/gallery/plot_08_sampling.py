"""
Hamiltonian Monte Carlo
=======================

Chains that follow the gradient of a density, two hundred at once, each with random numbers of its own key.
"""

import matplotlib.pyplot as plt
import numpy as np

import tracejit as tj
from tracejit import random


def logp(z):
    """A banana."""
    x, y = z[0], z[1]
    return -0.5 * x**2 - 0.5 * ((y - 0.7 * x**2) / 0.4) ** 2


def sample(z, key, size=0.15, steps=12):
    slope = tj.grad(logp)
    kick, accept = random.split(key)
    v = random.normal(kick, (2,))
    new, w = z, v
    for _ in range(steps):
        w = w + 0.5 * size * slope(new)
        new = new + size * w
        w = w + 0.5 * size * slope(new)
    change = logp(new) - logp(z) - 0.5 * (w @ w - v @ v)
    return np.where(np.log(random.uniform(accept)) < change, new, z)


def chain(key, length=100):
    path, z = np.zeros((length, 2)), np.zeros(2)
    for k in range(length):
        z = sample(z, random.fold_in(key, k))
        path[k] = z
    return path


paths = tj.jit(tj.vmap(chain))(random.split(random.key(0), 200))
late = paths[:, 20:].reshape(-1, 2)
print("mean", late.mean(axis=0).round(2), "exact: 0, 0.7")

x, y = np.meshgrid(np.linspace(-3.2, 3.2, 100), np.linspace(-2, 7, 100))
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
left.contourf(x, y, np.exp(logp(np.stack([x, y]))), cmap="Blues")
left.plot(*paths[0].T, "-o", color="C1", ms=3, lw=0.6)
left.set_title("one chain")
right.hist2d(*late.T, bins=60, cmap="Blues")
right.set_title("all of them")
plt.show()
