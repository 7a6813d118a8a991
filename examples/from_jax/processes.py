"""A Gaussian process fitted to noisy data: kernels by two vmaps, the likelihood by Cholesky factors, Adam by hand."""

import tracejit as jax  # JAX: import jax
import tracejit.numpy as jnp  # JAX: import jax.numpy as jnp
from tracejit import random  # JAX: from jax import random
from tracejit.scipy.linalg import cho_solve, cholesky  # JAX: from jax.scipy.linalg import cho_solve, cholesky

jax.config.update("jax_enable_x64", True)


def softplus(x):
    return jnp.logaddexp(x, 0.0)


def kernel(params, a, b):
    """Matérn's of order 3/2, between two points."""
    r = jnp.sqrt(3 * jnp.sum((a - b) ** 2) + 1e-12) / softplus(params["length"])
    return softplus(params["height"]) * (1 + r) * jnp.exp(-r)


def gram(params, xs, ys):
    return jax.vmap(lambda a: jax.vmap(lambda b: kernel(params, a, b))(ys))(xs)


def factor(params, xs):
    noise = softplus(params["noise"]) + 1e-6
    return cholesky(gram(params, xs, xs) + noise * jnp.eye(xs.shape[0]), lower=True)


def loss(params, xs, y):
    """The negative logarithm of the marginal likelihood."""
    root = factor(params, xs)
    half = cho_solve((root, True), y)
    return 0.5 * y @ half + jnp.log(jnp.diagonal(root)).sum() + 0.5 * y.size * jnp.log(2 * jnp.pi)


@jax.jit
def step(params, moments, n, xs, y):
    value, slope = jax.value_and_grad(loss)(params, xs, y)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], slope)
    second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, moments[1], slope)
    params = jax.tree.map(
        lambda p, m, v: p - 0.05 * m / (1 - 0.9**n) / (jnp.sqrt(v / (1 - 0.99**n)) + 1e-8),
        params,
        first,
        second,
    )
    return params, (first, second), value


@jax.jit
def predict(params, xs, y, at):
    """Means and deviations."""
    root = factor(params, xs)
    across = gram(params, at, xs)
    mean = across @ cho_solve((root, True), y)
    left = jax.vmap(lambda a: kernel(params, a, a))(at) - jnp.sum(
        across * cho_solve((root, True), across.T).T, 1
    )
    return mean, jnp.sqrt(jnp.maximum(left, 0.0))


def data(n=30):
    first, second = random.split(random.key(4))
    xs = random.uniform(first, (n, 1), minval=-3.0, maxval=3.0)
    return xs, jnp.sin(2 * xs[:, 0]) + 0.1 * random.normal(second, (n,))


def run(steps=80):
    """Losses along the way, the parameters, and predictions."""
    xs, y = data()
    params = {"length": jnp.array(1.0), "height": jnp.array(0.5), "noise": jnp.array(-1.0)}
    moments = (jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params))
    losses = []
    for n in range(1, steps + 1):
        params, moments, value = step(params, moments, float(n), xs, y)
        losses.append(float(value))
    mean, deviation = predict(params, xs, y, jnp.linspace(-3, 3, 5)[:, None])
    return losses, params, mean, deviation


if __name__ == "__main__":
    losses, params, mean, deviation = run()
    print(losses[0], losses[-1], {k: float(v) for k, v in params.items()}, mean, deviation)
