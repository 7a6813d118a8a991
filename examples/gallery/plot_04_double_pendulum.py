"""
When does a double pendulum flip?
=================================

A simulation that stops when something happens, for forty thousand beginnings at once: ``tj.vmap`` of a ``while`` loop.
Each lane takes as many steps as it needs.
"""

import matplotlib.pyplot as plt
import numpy as np

import tracejit as tj


def rates(a, b, va, vb):
    """Accelerations of two rods of length 1 with masses 1, gravity 1."""
    d = a - b
    below = 3 - np.cos(2 * d)
    aa = -3 * np.sin(a) - np.sin(a - 2 * b) - 2 * np.sin(d) * (vb * vb + va * va * np.cos(d))
    ab = 2 * np.sin(d) * (2 * va * va + 2 * np.cos(a) + vb * vb * np.cos(d))
    return aa / below, ab / below


def flip(a, b, limit=60.0, dt=0.05):
    """The time at which the lower rod first goes over the top."""
    va = vb = time = 0.0
    while abs(b) < np.pi and time < limit:
        ga, gb = rates(a, b, va, vb)
        va, vb = va + dt * ga, vb + dt * gb
        a, b = a + dt * va, b + dt * vb
        time += dt
    return time


n = 200
angles = np.linspace(-3, 3, n)
times = tj.jit(tj.vmap(tj.vmap(flip, (None, 0)), (0, None)))(angles, angles)

plt.figure(figsize=(5.5, 4.5))
plt.imshow(times.T, origin="lower", extent=(-3, 3, -3, 3), cmap="magma_r", norm="log")
plt.colorbar(label="time of the first flip")
plt.xlabel("angle of the upper rod")
plt.ylabel("angle of the lower rod")
plt.show()
