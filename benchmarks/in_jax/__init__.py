"""Programs of examples/programs in JAX: `loops` step by step, as their source is; `best` with what JAX
is good at. Functions `(jnp, lax, *args)` with the programs' names and arguments, of which integers are Python's."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np


def prepared(fn: Callable[..., Any], argnums: tuple[int, ...]) -> Callable[..., Any]:
    """What `by_hand` takes: a function compiled by JAX on arrays that lie in its memory."""

    def prepare(mode: str, *args: Any) -> Callable[..., Any]:
        jax = importlib.import_module("jax")
        jax.config.update("jax_enable_x64", True)
        jnp = importlib.import_module("jax.numpy")
        places = [n for n, a in enumerate(args) if isinstance(a, (np.ndarray, np.generic, float))]

        def f(*dynamic: Any) -> Any:
            full = list(args)
            for n, x in zip(places, dynamic, strict=True):
                full[n] = x
            return fn(jnp, jax.lax, *full)

        if mode == "grad":
            f = jax.grad(f, argnums=tuple(places.index(n) for n in argnums))
        run = jax.jit(f)
        placed = [jnp.asarray(args[n]) for n in places]
        return lambda *_: jax.block_until_ready(run(*placed))

    return prepare
