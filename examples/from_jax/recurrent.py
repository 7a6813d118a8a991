"""A recurrent network that adds the marked ones of a series of numbers: a scan under vmap, trees of parameters."""

import functools

import tracejit as jax  # JAX: import jax
import tracejit.numpy as jnp  # JAX: import jax.numpy as jnp
from tracejit import lax, nn, random, tree_util  # JAX: from jax import lax, nn, random, tree_util

jax.config.update("jax_enable_x64", True)


def init(key, inputs, hidden):
    """The parameters of one GRU cell and of a linear layer after it."""
    keys = random.split(key, 3)
    glorot = nn.initializers.glorot_normal()
    return {
        "in": {"w": glorot(keys[0], (inputs, 3 * hidden)), "b": jnp.zeros(3 * hidden)},
        "on": {"w": nn.initializers.orthogonal()(keys[1], (hidden, 3 * hidden))},
        "out": {"w": glorot(keys[2], (hidden, 1)), "b": jnp.zeros(1)},
    }


def cell(params, h, x):
    """The next state: part of the old one, part of a new one."""
    now = x @ params["in"]["w"] + params["in"]["b"]
    before = h @ params["on"]["w"]
    (xr, xz, xn), (hr, hz, hn) = jnp.split(now, 3), jnp.split(before, 3)
    reset, keep = nn.sigmoid(xr + hr), nn.sigmoid(xz + hz)
    return keep * h + (1 - keep) * jnp.tanh(xn + reset * hn)


def predict(params, xs):
    """The sum that the network believes in, for one series (time, 2)."""
    hidden = params["on"]["w"].shape[0]
    last, _ = lax.scan(lambda h, x: (cell(params, h, x), None), jnp.zeros(hidden), xs)
    return (last @ params["out"]["w"] + params["out"]["b"])[0]


def batch(key, count, length):
    """Numbers with a mark at two of them, and the sums of these."""
    first, second = random.split(key)
    numbers = random.uniform(first, (count, length))
    places = jax.vmap(lambda k: random.permutation(k, length)[:2])(random.split(second, count))
    marks = nn.one_hot(places, length).sum(1)
    return jnp.stack([numbers, marks], -1), jnp.sum(numbers * marks, 1)


def loss(params, xs, sums):
    return jnp.mean((jax.vmap(functools.partial(predict, params))(xs) - sums) ** 2)


@jax.jit
def step(params, velocity, key):
    """One step of gradient descent with momentum and clipped gradients."""
    value, slope = jax.value_and_grad(loss)(params, *batch(key, 32, 6))
    size = jnp.sqrt(sum(jnp.vdot(g, g) for g in tree_util.tree_leaves(slope)))
    slope = tree_util.tree_map(lambda g: g * jnp.minimum(1.0, 1.0 / size), slope)
    velocity = tree_util.tree_map(lambda v, g: 0.9 * v - 0.05 * g, velocity, slope)
    return tree_util.tree_map(jnp.add, params, velocity), velocity, value


def run(steps=60, hidden=12):
    """Losses along the way, and of a last batch."""
    params = init(random.key(0), 2, hidden)
    velocity = tree_util.tree_map(jnp.zeros_like, params)
    losses = []
    for key in random.split(random.key(1), steps):
        params, velocity, value = step(params, velocity, key)
        losses.append(float(value))
    return losses, float(loss(params, *batch(random.key(2), 64, 6)))


if __name__ == "__main__":
    losses, last = run()
    print(losses[0], losses[10], losses[-1], last)
