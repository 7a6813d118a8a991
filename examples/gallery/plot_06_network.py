"""
A network learns two spirals
============================

Layers, a loss and Adam; the whole step with its gradient and its update is one compiled program.
"""

import matplotlib.pyplot as plt
import numpy as np

import tracejit as tj
from tracejit import nn, optim

rng = np.random.default_rng(0)
turn = np.sqrt(rng.random(400)) * 3 * np.pi
label = np.arange(400) % 2
angle = turn + np.pi * label
x = np.stack([turn * np.cos(angle), turn * np.sin(angle)], axis=1) / 10 + 0.02 * rng.normal(size=(400, 2))

net = nn.MLP([2, 32, 32, 1], np.tanh, key=tj.random.key(1))
method = optim.adam(1e-2)


def loss(net):
    return nn.binary_cross_entropy_with_logits(net(x)[:, 0], label.astype(float))


@tj.jit
def step(net, state):
    value, slope = tj.value_and_grad(loss)(net)
    updates, state = method.update(slope, state, net)
    return optim.apply_updates(net, updates), state, value


state, curve = method.init(net), []
for _ in range(600):
    net, state, value = step(net, state)
    curve.append(value)
right = ((net(x)[:, 0] > 0) == label).mean()
print(f"loss {curve[-1]:.4f}, {right:.1%} right")
assert right > 0.95

# %%

side = np.linspace(-1.1, 1.1, 150)
plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
figure, (left, field) = plt.subplots(1, 2, figsize=(10, 4))
left.semilogy(curve)
left.set(xlabel="step", ylabel="loss", title="training")
field.imshow(
    net(plane).reshape(150, 150), origin="lower", extent=(-1.1, 1.1) * 2, cmap="RdBu", vmin=-6, vmax=6
)
field.scatter(*x.T, c=label, cmap="coolwarm_r", s=9, edgecolors="white", linewidths=0.4)
field.set_title("what the network thinks")
plt.show()
