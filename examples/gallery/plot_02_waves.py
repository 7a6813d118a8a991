"""
Waves behind a wall
===================

The wave equation in a basin with a wall that has two gaps, step by step in place.
"""

import matplotlib.pyplot as plt
import numpy as np

import tracejit as tj

ny, nx = 160, 200
wall = np.zeros((ny, nx), dtype=bool)
wall[:, 60:63] = True
wall[55:65, 60:63] = wall[95:105, 60:63] = False


@tj.jit
def run(steps, speed=0.5):
    now, before = np.zeros((ny, nx)), np.zeros((ny, nx))
    for k in range(steps):
        new = np.zeros((ny, nx))
        inner = now[1:-1, 1:-1]
        around = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2]
        new[1:-1, 1:-1] = 2 * inner - before[1:-1, 1:-1] + speed**2 * (around - 4 * inner)
        new[:, 1] = np.sin(0.25 * k)  # a paddle at the left
        new[wall] = 0
        before, now = now, new
    return now


# %%
# The number of steps is an argument: one program serves all of them.

figure, axes = plt.subplots(1, 3, figsize=(10, 3))
for ax, steps in zip(axes, (120, 250, 380), strict=True):
    ax.imshow(run(steps), cmap="RdBu", vmin=-1, vmax=1)
    ax.imshow(np.where(wall, 1.0, np.nan), cmap="gray", vmin=0, vmax=2)
    ax.set(title=f"{steps} steps", xticks=[], yticks=[])
print(run.trace_count, "trace")
plt.show()
