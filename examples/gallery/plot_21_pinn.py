"""
A network that solves Burgers' equation
=======================================

A physics-informed network: nothing is known but the equation and what holds at its edges. The residual of the
equation is made of derivatives of the network by its inputs, and is made small by derivatives by its weights.
"""

import matplotlib.pyplot as plt
import numpy as np

import tracejit as tj
from tracejit import nn, optim

viscosity = 0.03
rng = np.random.default_rng(0)
network = nn.MLP([2, 20, 20, 20, 1], nn.tanh, key=tj.random.key(1))


def u(network, x, t):
    """The edges and the first moment are built in: u = 0 at x = -1 and 1, and -sin(pi x) at t = 0."""
    return (1 - x * x) * t * network(np.stack([x, t]))[0] - np.sin(np.pi * x)


def residual(network, x, t):
    by_x = tj.grad(u, argnums=1)
    by_xx = tj.grad(lambda x: by_x(network, x, t))(x)
    by_t = tj.grad(u, argnums=2)(network, x, t)
    return by_t + u(network, x, t) * by_x(network, x, t) - viscosity * by_xx


def loss(network, x, t):
    return np.mean(tj.vmap(residual, in_axes=(None, 0, 0))(network, x, t) ** 2)


steps = 1500
method = optim.adam(optim.cosine_decay_schedule(0.01, steps))


@tj.jit
def improve(network, state, x, t):
    value, slope = tj.value_and_grad(loss)(network, x, t)
    updates, state = method.update(slope, state, network)
    return optim.apply_updates(network, updates), state, value


state, curve = method.init(network), []
for _ in range(steps):
    x, t = rng.uniform(-1, 1, 256), rng.uniform(0, 1, 256)
    network, state, value = improve(network, state, x, t)
    curve.append(value)

# %%
# Finite differences say what is right.

grid = np.linspace(-1, 1, 201)


@tj.jit
def differences(v, steps):
    h, dt = grid[1] - grid[0], 5e-4
    for _ in range(steps):
        flux = 0.5 * v * v
        v = v.copy()
        change = -(flux[2:] - flux[:-2]) / (2 * h)
        v[1:-1] += dt * (change + viscosity * (v[2:] - 2 * v[1:-1] + v[:-2]) / h**2)
    return v


moments = (0.0, 0.3, 0.6, 1.0)
exact = [differences(-np.sin(np.pi * grid), int(m / 5e-4)) for m in moments]
learned = tj.jit(tj.vmap(u, in_axes=(None, 0, None)))
error = max(np.abs(learned(network, grid, m) - e).max() for m, e in zip(moments, exact, strict=True))
print(f"residual {curve[-1]:.2e}, largest error {error:.3f}")
assert error < 0.25

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8))
for n, (m, e) in enumerate(zip(moments, exact, strict=True)):
    left.plot(grid, learned(network, grid, m), color=f"C{n}", label=f"t = {m}")
    left.plot(grid, e, "k:", lw=1)
left.legend()
left.set_title("the network, and finite differences (dotted)")
right.semilogy(curve)
right.set(xlabel="step", title="squared residual")
plt.show()
