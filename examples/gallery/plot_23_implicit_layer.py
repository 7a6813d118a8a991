"""
A layer without end
===================

A deep equilibrium network: the same layer is applied until nothing changes any more. Its output is the
solution z of ``z = tanh(W z + U x + b)``; its derivative follows from this equation (``custom_root``), and no
step on the way to it is kept.
"""

import matplotlib.pyplot as plt
import numpy as np

import tracejit as tj
from tracejit import nn, optim

size = 16
rng = np.random.default_rng(0)
angle = rng.uniform(0.5, 3 * np.pi, 300)
side = rng.integers(0, 2, 300)
radius = angle / 9
x = np.stack([radius * np.cos(angle + np.pi * side), radius * np.sin(angle + np.pi * side)], axis=1)
x += 0.02 * rng.normal(size=x.shape)

params = {
    "W": 0.3 * rng.normal(size=(size, size)) / np.sqrt(size),
    "U": 2 * rng.normal(size=(size, 2)),
    "b": rng.normal(size=size),
    "out": rng.normal(size=size) / np.sqrt(size),
}


def equilibrium(params, x):
    push = params["U"] @ x + params["b"]
    matrix = 0.9 * params["W"] / np.maximum(1.0, np.linalg.norm(params["W"]))  # it pulls points together

    def off(z):
        return np.tanh(matrix @ z + push) - z

    def iterate(off, z):
        change = off(z)
        while np.abs(change).max() > 1e-9:
            z = z + change
            change = off(z)
        return z

    def linear(g, y):
        return np.linalg.solve(tj.jacobian(g)(y), y)

    return tj.lax.custom_root(off, np.zeros(size), iterate, linear)


def logit(params, x):
    return params["out"] @ equilibrium(params, x)


def loss(params):
    logits = tj.vmap(logit, in_axes=(None, 0))(params, x)
    return nn.binary_cross_entropy_with_logits(logits, side * 1.0)


method = optim.adam(0.03)


@tj.jit
def improve(params, state):
    value, slope = tj.value_and_grad(loss)(params)
    updates, state = method.update(slope, state, params)
    return optim.apply_updates(params, updates), state, value


state, curve = method.init(params), []
for _ in range(300):
    params, state, value = improve(params, state)
    curve.append(value)
right_ones = np.mean((tj.jit(tj.vmap(logit, in_axes=(None, 0)))(params, x) > 0) == side)
print(f"loss {curve[0]:.3f} -> {curve[-1]:.3f}, right: {right_ones:.0%}")
assert right_ones > 0.9

line = np.linspace(-1.2, 1.2, 60)
grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
shown = tj.jit(tj.vmap(logit, in_axes=(None, 0)))(params, grid).reshape(60, 60)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
left.contourf(line, line, np.tanh(shown), 20, cmap="RdBu", alpha=0.7)
left.scatter(*x.T, c=side, cmap="RdBu", s=8)
right.semilogy(curve)
right.set(xlabel="step", title="loss")
plt.show()
