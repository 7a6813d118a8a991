"""
Prices and Greeks
=================

An option whose price is a mean over random paths. Its derivatives by every parameter come from the same paths.
"""

import matplotlib.pyplot as plt
import numpy as np

import tracejit as tj
from tracejit import random


def price(spot, volatility, key, strike=100.0, rate=0.03, years=1.0, steps=50, paths=2000):
    """A call on the mean of the price over a year."""
    dt = years / steps
    level, total = np.full(paths, spot), np.zeros(paths)
    for k in range(steps):
        z = random.normal(random.fold_in(key, k), (paths,))
        level = level * np.exp((rate - 0.5 * volatility**2) * dt + volatility * np.sqrt(dt) * z)
        total = total + level
    return np.exp(-rate * years) * np.mean(np.maximum(total / steps - strike, 0))


key = random.key(7)
greeks = tj.jit(tj.value_and_grad(price, argnums=(0, 1)))
spots = np.linspace(70, 130, 25)
rows = [[greeks(s, v, key) for s in spots] for v in (0.1, 0.2, 0.4)]

figure, axes = plt.subplots(1, 3, figsize=(11, 3.2))
for row, v in zip(rows, (0.1, 0.2, 0.4), strict=True):
    axes[0].plot(spots, [value for value, _ in row], label=f"volatility {v}")
    axes[1].plot(spots, [slope[0] for _, slope in row])
    axes[2].plot(spots, [slope[1] for _, slope in row])
for ax, title in zip(axes, ("price", "delta", "vega"), strict=True):
    ax.set(title=title, xlabel="spot")
axes[0].legend()
plt.show()
