"""Sixteen Markov chains at once: Hamiltonian Monte Carlo for a logistic regression, a scan under vmap under jit."""

import functools

import tracejit as jax  # JAX: import jax
import tracejit.numpy as jnp  # JAX: import jax.numpy as jnp
from tracejit import lax, random  # JAX: from jax import lax, random
from tracejit.scipy.stats import norm  # JAX: from jax.scipy.stats import norm

jax.config.update("jax_enable_x64", True)


def log_density(beta, x, y):
    """The logarithm of the posterior density, but for a constant."""
    logits = x @ beta
    return jnp.sum(y * logits - jax.nn.softplus(logits)) + jnp.sum(norm.logpdf(beta, 0, 3))


def leapfrog(force, q, p, step, count):
    def body(_, state):
        q, p = state
        q = q + step * p
        return q, p + step * force(q)

    p = p + 0.5 * step * force(q)
    q, p = lax.fori_loop(0, count, body, (q, p))
    return q, p - 0.5 * step * force(q)


def chain(key, start, x, y, draws):
    """`draws` states of one chain, and how many proposals were accepted."""
    density = functools.partial(log_density, x=x, y=y)
    force = jax.grad(density)

    def transition(q, key):
        first, second = random.split(key)
        p = random.normal(first, q.shape)
        new, end = leapfrog(force, q, p, 0.1, 12)
        change = density(new) - density(q) - 0.5 * (end @ end - p @ p)
        accept = jnp.log(random.uniform(second)) < change
        q = lax.cond(accept, lambda: new, lambda: q)
        return q, (q, accept)

    _, (states, accepted) = lax.scan(transition, start, random.split(key, draws))
    return states, accepted.mean()


def spread(states):
    """Gelman and Rubin's measure of how well the chains agree: 1 where they do."""
    n = states.shape[1]
    within = states.var(axis=1, ddof=1).mean(axis=0)
    between = states.mean(axis=1).var(axis=0, ddof=1)
    return jnp.sqrt((within * (n - 1) / n + between) / within)


def main(draws=200, chains=16):
    keys = random.split(random.PRNGKey(1), 4)
    x = random.normal(keys[0], (100, 3))
    truth = jnp.array([1.0, -2.0, 0.5])
    y = (random.uniform(keys[1], (100,)) < jax.nn.sigmoid(x @ truth)).astype(float)
    sample = jax.jit(jax.vmap(chain, in_axes=(0, 0, None, None, None)), static_argnums=4)
    starts = random.normal(keys[2], (chains, 3))
    states, accepted = sample(random.split(keys[3], chains), starts, x, y, draws)
    states = states[:, draws // 4 :]
    mean = states.mean(axis=(0, 1))
    print(f"mean {[round(float(m), 2) for m in mean]}, accepted {float(accepted.mean()):.0%}")
    return {
        "mean": [float(m) for m in mean],
        "accepted": float(accepted.mean()),
        "spread": float(spread(states).max()),
    }


if __name__ == "__main__":
    main()
