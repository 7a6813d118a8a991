"""
Patterns that grow
==================

Two substances that react and diffuse (the Gray-Scott model), four thousand steps for several parameters.
"""

import matplotlib.pyplot as plt
import numpy as np

import tracejit as tj

n = 96


def laplacian(u):
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u


@tj.jit
def grow(feed, kill, steps=4000):
    u, v = np.ones((n, n)), np.zeros((n, n))
    u[40:56, 40:56], v[40:56, 40:56] = 0.5, 0.25
    v[10:16, 70:80] = 0.3
    for _ in range(steps):
        reaction = u * v * v
        u = u + 0.16 * laplacian(u) - reaction + feed * (1 - u)
        v = v + 0.08 * laplacian(v) + reaction - (feed + kill) * v
    return v


figure, axes = plt.subplots(1, 3, figsize=(10, 3.4))
for ax, (feed, kill) in zip(axes, ((0.037, 0.06), (0.03, 0.062), (0.025, 0.06)), strict=True):
    ax.imshow(grow(feed, kill), cmap="YlGnBu")
    ax.set(title=f"feed {feed}, kill {kill}", xticks=[], yticks=[])
print(grow.trace_count, "trace for all of them")
plt.show()
