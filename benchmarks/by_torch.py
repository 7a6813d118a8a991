"""Workloads written in PyTorch, differentiated by torch.func as their mode says."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def by_torch(fn: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """What `by_hand` takes for PyTorch, of `fn(torch, *args)`."""

    def prepare(mode: str, *args: Any) -> Callable[..., Any]:
        torch = importlib.import_module("torch")
        return derived(torch.func, mode, lambda *xs: fn(torch, *xs), argnums)

    return prepare


def derived(t: Any, mode: str, f: Callable[..., Any], argnums: Any) -> Callable[..., Any]:
    """`f` differentiated by `torch.func`, with the results in the order that the other libraries have."""
    if mode == "forward":
        return f
    if mode == "hvp":
        return lambda v, *xs: t.jvp(lambda x: t.grad(f)(x, *xs[1:]), (xs[0],), (v,))[1]
    if mode == "value_and_grad":

        def value_and_grad(*xs: Any) -> Any:
            gradient, value = t.grad_and_value(f, argnums=argnums)(*xs)
            return value, gradient

        return value_and_grad
    return {"grad": t.grad, "hessian": t.hessian, "jacobian": t.jacrev}[mode](f, argnums=argnums)
