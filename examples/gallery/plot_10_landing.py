"""
Landing a rocket
================

The thrust at each of a hundred moments is a parameter. The gradient through the simulation says how to change all of
them, so that the rocket comes down softly with little fuel.
"""

import matplotlib.pyplot as plt
import numpy as np

import tracejit as tj
from tracejit import optim

steps, dt = 100, 0.1


def fly(thrust):
    place, velocity, mass = np.array([-8.0, 20.0]), np.array([3.0, -2.0]), 1.0
    path = np.zeros((steps, 2))
    for k in range(steps):
        force = thrust[k]
        velocity = velocity + dt * (force / mass + np.array([0.0, -1.0]))
        place = place + dt * velocity
        mass = mass - 0.002 * np.sqrt(force @ force + 1e-6)
        path[k] = place
    return path, velocity


def cost(thrust):
    path, velocity = fly(thrust)
    miss = path[-1] @ path[-1] + 4 * velocity @ velocity
    return miss + 0.02 * np.sum(thrust**2) + 5 * np.sum(np.maximum(-path[:, 1], 0))


method = optim.adam(0.03)


@tj.jit
def improve(thrust, state):
    value, slope = tj.value_and_grad(cost)(thrust)
    updates, state = method.update(slope, state, thrust)
    return thrust + updates, state, value


thrust = np.zeros((steps, 2))
state, curve, kept = method.init(thrust), [], {}
for k in range(601):
    if k in (0, 40, 150, 600):
        kept[k] = fly(thrust)[0]
    thrust, state, value = improve(thrust, state)
    curve.append(value)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
for k, path in kept.items():
    left.plot(*path.T, label=f"after {k} steps")
left.plot(0, 0, "k^", ms=9)
left.axhline(0, color="0.6", lw=0.8)
left.legend()
right.semilogy(curve)
right.set(xlabel="step", title="cost")
print("end", fly(thrust)[0][-1].round(2), "speed", fly(thrust)[1].round(2))
plt.show()
