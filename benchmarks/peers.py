"""The libraries compared. Each knows how to turn a workload into a function without arguments.

A peer is imported when it is first asked for; one that is not installed is left out of the table.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.registry import CHOSEN, Case, Workload

Run = Callable[[], Any]


class NotHere(Exception):
    """A peer can't do this workload; the reason goes into the report."""


class Peer:
    """A library: `prepare(case, args)` gives a function that runs the case and waits for its result."""

    name = ""
    needs: tuple[str, ...] = ()
    usual_sizes = frozenset(("small", "middle", "large"))
    """The sizes at which it is measured unless some are asked for."""
    quick = True
    """Whether it is measured in a quick run for which no peers are asked for."""

    @functools.cached_property
    def lib(self) -> Any:
        """What `fn` is given: `np`, and `lax` where there is one."""
        raise NotHere("no namespace")

    def installed(self) -> bool:
        return all(importlib.util.find_spec(n) is not None for n in self.needs)  # type: ignore[attr-defined]

    def version(self) -> str:
        name = self.needs[0]
        return getattr(importlib.import_module(name), "__version__", None) or importlib.metadata.version(name)

    def prepare(self, case: Case, args: tuple[Any, ...]) -> Run:
        """A function of nothing that computes the case; raises NotHere."""
        w = case.workload
        if self.name in w.avoid:
            raise NotHere(w.avoid[self.name])
        if self.name in w.by_hand:
            return self.run_by_hand(w, args)
        return self.run(w, args)

    def run_by_hand(self, w: Workload, args: tuple[Any, ...]) -> Run:
        f = w.by_hand[self.name](w.mode, *args)
        return lambda: f(*args)

    def run(self, w: Workload, args: tuple[Any, ...]) -> Run:
        raise NotHere("has to be written by hand, and is not")

    def to_numpy(self, result: Any) -> list[np.ndarray]:
        """The result as a list of arrays, to compare."""
        return [np.asarray(x) for x in _leaves(result)]


def _leaves(x: Any) -> list[Any]:
    if isinstance(x, (tuple, list)):
        return [y for z in x for y in _leaves(z)]
    if isinstance(x, dict):
        return [y for k in sorted(x) for y in _leaves(x[k])]
    return [] if x is None else [x]


def with_lib(w: Workload, lib: Any, static: tuple[Any, ...]) -> Callable[..., Any]:
    """`fn` of the arguments that are not static. `lib` is a module, as it would be in a user's file: what
    compares the names that a function reads at every call then has as much to compare as there."""
    module, fn = types.ModuleType(w.name), w.fn
    vars(module).update(vars(lib), mode=w.mode)

    if static:

        def f(*dynamic: Any) -> Any:
            return fn(module, *dynamic, *static)

    else:

        def f(*dynamic: Any) -> Any:
            return fn(module, *dynamic)

    f.__name__ = w.fn.__name__
    return f


def split(w: Workload, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The static arguments, which come last, and the others."""
    first = len(args) - len(w.static)
    assert w.static == tuple(range(first, len(args))), w.name
    return args[first:], args[:first]


def derived(w: Workload, f: Callable[..., Any], t: Any) -> Callable[..., Any]:
    """`f` differentiated as the mode says, by the transformations of `t` (JAX's names)."""
    if w.mode == "forward":
        return f
    if w.mode == "hvp":
        return lambda v, *xs: t.jvp(lambda x: t.grad(f)(x, *xs[1:]), (xs[0],), (v,))[1]
    make = {"grad": t.grad, "value_and_grad": t.value_and_grad, "hessian": t.hessian, "jacobian": t.jacrev}
    return make[w.mode](f, argnums=w.argnums)


def transformations(t: Any) -> dict[str, Any]:
    """Those that workloads call themselves."""
    return {name: getattr(t, name) for name in ("vmap", "jacfwd", "grad", "jvp")}


# ---------------------------------------------------------------- the peers


class NumPy(Peer):
    name, needs = "numpy", ("numpy",)

    @functools.cached_property
    def lib(self) -> Any:
        return types.SimpleNamespace(np=np, special=importlib.import_module("scipy.special"), name=self.name)

    def run(self, w: Workload, args: tuple[Any, ...]) -> Run:
        if w.mode != "forward":
            raise NotHere("no derivatives")
        return lambda: w.fn(self.lib, *args)


class Tracejit(Peer):
    name, needs = "tracejit", ("tracejit",)
    backend = "llvm"

    @functools.cached_property
    def lib(self) -> Any:
        tj = importlib.import_module("tracejit")
        special = importlib.import_module("scipy.special")
        return types.SimpleNamespace(
            np=np, special=special, lax=tj.lax, name=self.name, **transformations(tj)
        )

    def run(self, w: Workload, args: tuple[Any, ...]) -> Run:
        tj = importlib.import_module("tracejit")
        static, dynamic = split(w, args)
        f = tj.jit(derived(w, with_lib(w, self.lib, static), tj), backend=self.backend)
        return lambda: f(*dynamic)


class Printed(Tracejit):
    """The other target: programs printed as Python, which Numba compiles."""

    name, backend = "tracejit by numba", "numba"
    usual_sizes = frozenset(("middle",))

    def prepare(self, case: Case, args: tuple[Any, ...]) -> Run:
        if not CHOSEN.fullmatch(case.label):
            raise NotHere("a sample of the rows is measured")
        return self.run(case.workload, args)


class Jax(Peer):
    name, needs = "jax", ("jax",)

    @functools.cached_property
    def lib(self) -> Any:
        jax = importlib.import_module("jax")
        jax.config.update("jax_enable_x64", True)
        jnp = importlib.import_module("jax.numpy")
        special = importlib.import_module("jax.scipy.special")
        return types.SimpleNamespace(
            np=jnp, special=special, lax=jax.lax, name=self.name, **transformations(jax)
        )

    def run(self, w: Workload, args: tuple[Any, ...]) -> Run:
        lib = self.lib
        jax = importlib.import_module("jax")
        static, dynamic = split(w, args)
        f = jax.jit(derived(w, with_lib(w, lib, static), jax))
        placed = jax.tree.map(jax.numpy.asarray, dynamic)
        return lambda: jax.block_until_ready(f(*placed))


class JaxLoops(Jax):
    """JAX step by step, with `fori_loop` and `.at`: the form that a loop's source suggests."""

    name = "jax loops"

    def prepare(self, case: Case, args: tuple[Any, ...]) -> Run:
        if self.name not in case.workload.by_hand:
            raise NotHere("not written in loops")
        return self.run_by_hand(case.workload, args)


class Autograd(Peer):
    name, needs = "autograd", ("autograd",)

    @functools.cached_property
    def lib(self) -> Any:
        return types.SimpleNamespace(np=importlib.import_module("autograd.numpy"), name=self.name)

    def run(self, w: Workload, args: tuple[Any, ...]) -> Run:
        ag = importlib.import_module("autograd")
        if w.mode == "forward":
            raise NotHere("forward it is NumPy")
        if w.family == "loops":
            raise NotHere("has no loops")
        static, dynamic = split(w, args)
        f = with_lib(w, self.lib, static)
        g = self._derived(ag, w, f)
        return lambda: g(*dynamic)

    def _derived(self, ag: Any, w: Workload, f: Callable[..., Any]) -> Callable[..., Any]:
        if w.mode == "hvp":
            return lambda v, *xs: ag.hessian_vector_product(f)(*xs, v)
        make = {
            "grad": ag.grad,
            "value_and_grad": ag.value_and_grad,
            "hessian": ag.hessian,
            "jacobian": ag.jacobian,
        }
        return make[w.mode](f, w.argnums)


class Numba(Peer):
    """Hand-written kernels only."""

    name, needs = "numba", ("numba",)


class Torch(Peer):
    """torch.compile on hand-written PyTorch, or on the NumPy function itself where it goes forward."""

    name, needs = "torch", ("torch",)
    compiled = True
    usual_sizes, quick = frozenset(("middle",)), False  # it compiles for many seconds a row

    def run(self, w: Workload, args: tuple[Any, ...]) -> Run:
        if w.mode != "forward" or w.family == "loops":
            raise NotHere("not written for PyTorch")
        torch = importlib.import_module("torch")
        lib = types.SimpleNamespace(np=np, name=self.name)
        static, dynamic = split(w, args)
        f = torch.compile(with_lib(w, lib, static), dynamic=False)
        return lambda: f(*dynamic)

    def run_by_hand(self, w: Workload, args: tuple[Any, ...]) -> Run:
        torch = importlib.import_module("torch")
        placed = _placed(torch, args)
        f = w.by_hand["torch"](w.mode, *placed)
        if self.compiled:
            f = torch.compile(f, dynamic=False)
        return lambda: f(*placed)

    def to_numpy(self, result: Any) -> list[np.ndarray]:
        return [np.asarray(x.detach() if hasattr(x, "detach") else x) for x in _leaves(result)]


def _placed(torch: Any, x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(_placed(torch, y) for y in x)
    return torch.from_numpy(x) if isinstance(x, np.ndarray) else x


class TorchEager(Torch):
    name, compiled, quick = "torch eager", False, True

    def run(self, w: Workload, args: tuple[Any, ...]) -> Run:
        raise NotHere("not written for PyTorch")

    def prepare(self, case: Case, args: tuple[Any, ...]) -> Run:
        if "torch" not in case.workload.by_hand:
            raise NotHere("not written for PyTorch")
        return self.run_by_hand(case.workload, args)


class DrJit(Peer):
    """Hand-written functions of single elements. Dr.Jit traces at every call. With some versions of LLVM its
    inverse functions end the process, so the rows are few."""

    name, needs = "drjit", ("drjit",)

    @functools.cached_property
    def lib(self) -> Any:
        return types.SimpleNamespace(np=importlib.import_module("drjit"), name=self.name)

    def run(self, w: Workload, args: tuple[Any, ...]) -> Run:
        raise NotHere("not written for Dr.Jit")

    def run_by_hand(self, w: Workload, args: tuple[Any, ...]) -> Run:
        """`by_hand` is a function `(np, *args)` of single elements; in reverse mode the gradient of its sum."""
        dr, placed = self._placed(args)
        chosen = (w.argnums,) if isinstance(w.argnums, int) else w.argnums

        def finish(out: Any) -> Any:
            dr.eval(out)
            dr.sync_thread()
            return out

        def gradient() -> Any:
            xs = [type(x)(dr.detach(x)) for x in placed]
            for n in chosen:
                dr.enable_grad(xs[n])
            dr.backward(w.by_hand["drjit"](self.lib.np, *xs))
            return finish([dr.grad(xs[n]) for n in chosen])

        forward = lambda: finish(w.by_hand["drjit"](self.lib.np, *placed))  # noqa: E731
        return forward if w.mode == "forward" else gradient

    def _placed(self, args: tuple[Any, ...]) -> tuple[Any, list[Any]]:
        llvm = importlib.import_module("drjit.llvm.ad")
        self.lib.np.set_thread_count(int(os.environ.get("OMP_NUM_THREADS", "1")))
        kinds = {"f8": llvm.Float64, "f4": llvm.Float}
        return importlib.import_module("drjit"), [kinds[a.dtype.str[1:]](a) for a in args]

    def to_numpy(self, result: Any) -> list[np.ndarray]:
        return [np.asarray(x.numpy() if hasattr(x, "numpy") else x) for x in _leaves(result)]


ALL: tuple[Peer, ...] = (
    Tracejit(),
    Printed(),
    NumPy(),
    Numba(),
    Jax(),
    JaxLoops(),
    Torch(),
    TorchEager(),
    Autograd(),
    DrJit(),
)
