"""
A race of optimisers
====================

Four ways down a curved valley: with the gradient alone, with momentum, Adam, and Newton's method with the Hessian.
"""

import matplotlib.pyplot as plt
import numpy as np

import tracejit as tj
from tracejit import optim


def valley(z):
    return (1 - z[0]) ** 2 + 20 * (z[1] - z[0] ** 2) ** 2


def descend(method, steps=300):
    @tj.jit
    def run(z):
        state, path = method.init(z), np.zeros((steps, 2))
        for k in range(steps):
            path[k] = z
            updates, state = method.update(tj.grad(valley)(z), state, z)
            z = z + updates
        return path

    return run(np.array([-1.3, 1.5]))


@tj.jit
def newton(z, steps=12):
    path = np.zeros((steps, 2))
    for k in range(steps):
        path[k] = z
        z = z - np.linalg.solve(tj.hessian(valley)(z), tj.grad(valley)(z))
    return path


paths = {
    "gradient": descend(optim.sgd(0.005)),
    "momentum": descend(optim.sgd(0.003, momentum=0.9)),
    "Adam": descend(optim.adam(0.08)),
    "Newton": newton(np.array([-1.3, 1.5])),
}
x, y = np.meshgrid(np.linspace(-1.8, 1.8, 200), np.linspace(-1, 2.6, 200))
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
left.contour(x, y, valley(np.stack([x, y])), levels=np.geomspace(0.1, 100, 12), colors="0.8", linewidths=0.7)
for name, path in paths.items():
    left.plot(*path.T, "-", label=name, lw=1.2)
    right.semilogy([max(valley(z), 1e-16) for z in path])
left.plot(1, 1, "k*", ms=10)
left.set(ylim=(-1, 2.6))
left.legend()
right.set(xlabel="step", ylabel="height")
plt.show()
