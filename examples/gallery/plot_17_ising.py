"""
A magnet
========

Metropolis' method for the Ising model: single spins are turned one after the other, by NumPy's random numbers and a
branch for each. In plain Python this takes minutes.
"""

import matplotlib.pyplot as plt
import numpy as np

import tracejit as tj

n = 64


@tj.jit
def sweep(spins, temperature, rng, sweeps):
    magnetisation = np.zeros(sweeps)
    for s in range(sweeps):
        for _ in range(n * n):
            i, j = rng.integers(n), rng.integers(n)
            around = spins[i - 1, j] + spins[(i + 1) % n, j] + spins[i, j - 1] + spins[i, (j + 1) % n]
            cost = 2 * spins[i, j] * around
            if cost <= 0 or rng.random() < np.exp(-cost / temperature):
                spins[i, j] = -spins[i, j]
        magnetisation[s] = spins.mean()
    return magnetisation


figure, axes = plt.subplots(1, 4, figsize=(12, 3))
for ax, temperature in zip(axes, (1.5, 2.27, 3.5), strict=False):
    rng = np.random.default_rng(1)
    spins = rng.choice([-1.0, 1.0], size=(n, n), p=[0.4, 0.6])
    path = sweep(spins, temperature, rng, 120)  # the caller's array is changed
    ax.imshow(spins, cmap="cividis")
    ax.set(title=f"temperature {temperature}", xticks=[], yticks=[])
    axes[3].plot(path, label=f"{temperature}")
axes[3].set(title="magnetisation", xlabel="sweep")
axes[3].legend()
figure.tight_layout()
plt.show()
