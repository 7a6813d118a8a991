"""Names for parts of a program, and what of it is computed while tracing: what programs written for JAX ask for."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from tracejit.api.common import name_of
from tracejit.config import config
from tracejit.control.transformed import transformed
from tracejit.errors import FunctionNeededError
from tracejit.interpreters.eval import ROOT
from tracejit.ir.source import replay
from tracejit.tracing import call_user, use_trace


class named_scope:
    """A name for what is computed in a `with` block, or in a function that it decorates.

    It stands beside the lines in jaxprs, pictures, profiles and `explain`: `sin x   # model.py:12 in layer/attention`.
    What is computed does not change.
    """

    def __init__(self, name: str) -> None:
        self.name = str(name)

    def __enter__(self) -> None:
        self.before = replay.scope
        replay.scope = f"{self.before}/{self.name}" if self.before else self.name

    def __exit__(self, *_: object) -> None:
        replay.scope = self.before

    def __call__(self, fun: Callable[..., Any]) -> Callable[..., Any]:
        return named_call(fun, name=self.name)


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """`fun`, inside of a `named_scope` with this name, or with the function's own."""
    FunctionNeededError.check("named_call", fun)
    label = name_of(fun) if name is None else name

    @functools.wraps(fun)
    def named(*args: Any, **kwargs: Any) -> Any:
        with named_scope(label):
            return call_user(fun, *args, **kwargs)

    return transformed(named, named_call, fun, name=name)


@contextlib.contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """In a `with` block, what does not depend on traced values is computed at once, while tracing.

    In NumPy programs it always is; the block is for functions of `tracejit.lax` and for programs written for JAX. A
    traced value in it raises LeakedTracerError or ConcreteValueError.
    """
    with use_trace(ROOT):
        yield


@contextlib.contextmanager
def debug_nans(enable: bool = True) -> Iterator[None]:
    """In a `with` block, the operation that gives a NaN raises: the setting `config.debug_nans`."""
    with config.override(debug_nans=enable):
        yield


@contextlib.contextmanager
def debug_infs(enable: bool = True) -> Iterator[None]:
    """In a `with` block, the operation that gives an infinity raises: the setting `config.debug_infs`."""
    with config.override(debug_infs=enable):
        yield


@contextlib.contextmanager
def log_compiles(enable: bool = True) -> Iterator[None]:
    """In a `with` block, each compilation is logged, and why: the setting `config.log_compiles`."""
    with config.override(log_compiles=enable):
        yield


@contextlib.contextmanager
def check_tracer_leaks(enable: bool = True) -> Iterator[None]:
    """In a `with` block, traced values that outlive their trace raise: the setting `config.check_tracer_leaks`."""
    with config.override(check_tracer_leaks=enable):
        yield


def default_backend() -> str:
    """Where functions run that name no device: always "cpu"."""
    return "cpu"


def process_count() -> int:
    """How many processes work together: always 1."""
    return 1


def process_index() -> int:
    """The number of this process: always 0."""
    return 0


def effects_barrier() -> None:
    """Nothing: what a function prints and calls is done when it returns."""
