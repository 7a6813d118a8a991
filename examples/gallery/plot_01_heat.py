"""
Heat in a plate
===============

A simulation with writes into arrays, a mask and a ``break``, compiled as it is; and the derivative of a temperature by
the conductivity, which runs the loop backwards.
"""

import matplotlib.pyplot as plt
import numpy as np

import tracejit as tj

heaters = np.zeros((48, 64))
heaters[8:14, 12:40] = heaters[32:36, 20:52] = 0.02


def laplacian(u):
    out = np.zeros_like(u)
    out[1:-1] += u[2:] - 2 * u[1:-1] + u[:-2]
    out[:, 1:-1] += u[:, 2:] - 2 * u[:, 1:-1] + u[:, :-2]
    return out


def simulate(conductivity, cooling=0.01, limit=0.6):
    u = np.zeros_like(heaters)
    for step in range(3000):
        before = u.copy()
        u += conductivity * laplacian(u) + heaters
        u *= 1 - cooling
        hot = u > limit
        u[hot] -= 0.5 * (u[hot] - limit)  # a fan cools what is hot
        if np.abs(u - before).max() < 1e-5:
            break
    return u, step


# %%
# The whole function is one native loop.

u, steps = tj.jit(simulate)(0.15)
print(f"at rest after {steps} steps")

plt.figure(figsize=(6, 4))
plt.imshow(u, cmap="inferno")
plt.colorbar(label="temperature")
plt.title(f"after {steps} steps")

# %%
# How does the temperature at one point depend on the conductivity? ``tj.grad`` answers without a difference quotient.

temperature = tj.jit(lambda c: simulate(c)[0][22, 30])
slope = tj.jit(tj.grad(lambda c: simulate(c)[0][22, 30]))
cs = np.linspace(0.05, 0.24, 20)

figure, (above, below) = plt.subplots(2, 1, figsize=(6, 4), sharex=True)
above.plot(cs, [temperature(c) for c in cs])
above.set_ylabel("temperature")
below.plot(cs, [slope(c) for c in cs], color="C1")
below.set(xlabel="conductivity", ylabel="its derivative")
plt.show()
