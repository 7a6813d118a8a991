"""A network that tells two moons apart: parameters as a tree, Adam by hand, epochs as scans over shuffled batches."""

from functools import partial

import tracejit as jax  # JAX: import jax
import tracejit.numpy as jnp  # JAX: import jax.numpy as jnp
from tracejit import lax, random, tree_util  # JAX: from jax import lax, random, tree_util
from tracejit.flatten_util import ravel_pytree  # JAX: from jax.flatten_util import ravel_pytree

jax.config.update("jax_enable_x64", True)


def moons(key, n):
    """Points on two half circles, and which circle each is from."""
    first, second = random.split(key)
    angle = random.uniform(first, (n,), float, 0, jnp.pi)
    label = jnp.arange(n) % 2
    x = jnp.where(label == 0, jnp.cos(angle), 1 - jnp.cos(angle))
    y = jnp.where(label == 0, jnp.sin(angle), 0.5 - jnp.sin(angle))
    return jnp.stack([x, y], axis=1) + 0.1 * random.normal(second, (n, 2)), label


def init(key, sizes):
    keys = random.split(key, len(sizes) - 1)
    return [
        {"w": jax.nn.initializers.glorot_normal()(k, (m, n), float), "b": jnp.zeros(n)}
        for k, m, n in zip(keys, sizes[:-1], sizes[1:], strict=True)
    ]


def scores(params, x):
    """Of one point."""
    *hidden, last = params
    for layer in hidden:
        with jax.named_scope("hidden"):
            x = jax.nn.gelu(x @ layer["w"] + layer["b"])
    return x @ last["w"] + last["b"]


def loss(params, x, label):
    logits = jax.vmap(scores, in_axes=(None, 0))(params, x)
    wanted = jax.nn.one_hot(label, 2)
    return -jnp.mean(jnp.sum(wanted * jax.nn.log_softmax(logits), axis=1))


def adam(params, state, grads, rate=0.01):
    m, v, t = state
    m = tree_util.tree_map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
    v = tree_util.tree_map(lambda v, g: 0.999 * v + 0.001 * g**2, v, grads)
    t = t + 1

    def moved(path, p, m, v):
        decay = 1e-4 if path[-1].key == "w" else 0.0
        return p - rate * (m / (1 - 0.9**t) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8) + decay * p)

    return tree_util.tree_map_with_path(moved, params, m, v), (m, v, t)


@partial(jax.jit, static_argnums=4)
def epoch(params, state, key, data, size):
    x, label = data
    order = random.permutation(key, x.shape[0])

    def step(carry, batch):
        params, state = carry
        value, grads = jax.value_and_grad(loss)(params, *batch)
        return adam(params, state, grads), value

    batches = x[order].reshape(-1, size, 2), label[order].reshape(-1, size)
    (params, state), values = lax.scan(step, (params, state), batches)
    return params, state, values.mean()


def main(epochs=30):
    key = random.PRNGKey(0)
    key, first, second = random.split(key, 3)
    data = moons(first, 256)
    params = init(second, [2, 16, 16, 2])
    state = tree_util.tree_map(jnp.zeros_like, params), tree_util.tree_map(jnp.zeros_like, params), 0
    curve = []
    for _ in range(epochs):
        key, own = random.split(key)
        params, state, value = epoch(params, state, own, data, 32)
        curve.append(float(value))
    guess = jnp.argmax(jax.vmap(partial(scores, params))(data[0]), axis=1)
    right = float((guess == data[1]).mean())
    print(
        f"{ravel_pytree(params)[0].size} parameters, loss {curve[0]:.3f} -> {curve[-1]:.3f}, {right:.1%} right"
    )
    return {"first": curve[0], "last": curve[-1], "right": right}


if __name__ == "__main__":
    main()
