"""
Three bodies on one curve
=========================

Three equal masses chase each other along an eight. A small change of one of them shows how the orbit depends on where
it began: by the derivative of the simulation.
"""

import matplotlib.pyplot as plt
import numpy as np

import tracejit as tj

place = np.array([[0.97000436, -0.24308753], [-0.97000436, 0.24308753], [0.0, 0.0]])
velocity = np.array([[0.466203685, 0.43236573]] * 2 + [[-0.93240737, -0.86473146]])


def pull(x):
    out = np.zeros_like(x)
    for i in range(3):
        for j in range(3):
            if i != j:
                d = x[j] - x[i]
                out[i] += d / np.sum(d * d) ** 1.5
    return out


def orbit(x, v, steps=2000, dt=3.2e-3):
    x, v = x.copy(), v.copy()
    path = np.zeros((steps, 3, 2))
    for k in range(steps):
        v += 0.5 * dt * pull(x)
        x += dt * v
        v += 0.5 * dt * pull(x)
        path[k] = x
    return path


path = tj.jit(orbit)(place, velocity)
plt.figure(figsize=(7, 3))
for body in range(3):
    plt.plot(*path[:, body].T, lw=1)
    plt.plot(*path[-1, body], "o", color=f"C{body}")
plt.axis("equal")

# %%
# How far does every later place move, for each unit that the first body is moved to the right at the beginning? Forward
# mode goes along with the loop, and gives it for all times at once.

nudge = np.zeros_like(place)
nudge[0, 0] = 1.0
change = tj.jit(lambda x: tj.jvp(lambda x: orbit(x, velocity), (x,), (nudge,))[1])(place)
plt.figure(figsize=(7, 3))
plt.semilogy(np.arange(2000) * 3.2e-3, np.linalg.norm(change, axis=-1))
plt.xlabel("time")
plt.ylabel("change of the place")
plt.legend(["first", "second", "third"])

numeric = (orbit(place + 1e-6 * nudge, velocity) - orbit(place - 1e-6 * nudge, velocity)) / 2e-6
assert np.allclose(change[-1], numeric[-1], rtol=1e-3)
plt.show()
