"""Jitted functions, what is compiled of them, and jaxprs, pickled and read again, here and in other processes."""

from __future__ import annotations

import copy
import functools
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import cloudpickle

import tracejit as tj
from tracejit.interpreters import jit as native

X = np.linspace(0.1, 1.0, 6).reshape(2, 3)


def f(x: Any, k: Any = 2.0) -> Any:
    return (np.sin(x) ** k).sum()


@tj.jit
def decorated(x: Any) -> Any:
    return x + 1


MADE = {
    "jit": tj.jit(f),
    "options": tj.jit(f, static_argnames="k", fallback=False),
    "decorated": decorated,
    "grad": tj.jit(tj.grad(f)),
    "value_and_grad": tj.jit(tj.value_and_grad(f)),
    "vmap": tj.jit(tj.vmap(tj.grad(f), in_axes=(1,), out_axes=1)),
    "nested": tj.jit(tj.vmap(tj.jit(tj.grad(f)))),
    "hessian": tj.jit(tj.hessian(f)),
    "jacobians": tj.jit(tj.jacfwd(tj.jacrev(f))),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("pickler", [pickle, cloudpickle], ids=["pickle", "cloudpickle"])
def test_functions(name: str, pickler: Any) -> None:
    made = MADE[name]
    again = pickler.loads(pickler.dumps(made))
    assert repr(again) == repr(made) and vars(again.options) == vars(made.options)
    for a, b in zip(tj.tree.leaves(again(X)), tj.tree.leaves(made(X)), strict=True):
        np.testing.assert_array_equal(a, b)
    pickler.loads(pickler.dumps(made))(X)  # after a call, when the function has a class of its own


BARE = {
    "grad": tj.grad(f),
    "options": tj.grad(f, argnums=(0, 1)),
    "value_and_grad": tj.value_and_grad(f),
    "memory": tj.grad(f, memory=10**6),
    "vmap": tj.vmap(tj.grad(f), in_axes=(1, None), out_axes=1),
    "jacobians": tj.jacfwd(tj.jacrev(f)),
    "checkpoint": tj.grad(tj.checkpoint(f, policy=tj.checkpoint_policies.dots_saveable)),
    "named_call": tj.named_call(f, name="energy"),
    "of jitted": tj.grad(tj.jit(f)),
}


@pytest.mark.parametrize("name", BARE)
@pytest.mark.parametrize("pickler", [pickle, cloudpickle], ids=["pickle", "cloudpickle"])
def test_functions_without_jit(name: str, pickler: Any) -> None:
    made = BARE[name]
    again = pickler.loads(pickler.dumps(made))
    assert repr(again) == repr(made) and again.__name__ == "f" and "of f>" in repr(made)
    for a, b in zip(tj.tree.leaves(again(X, 3.0)), tj.tree.leaves(made(X, 3.0)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_programs_of_functions() -> None:
    made = tj.make_jaxpr(f)
    assert str(pickle.loads(pickle.dumps(made))(X)) == str(made(X))


@tj.vmap
def decorated_rows(x: Any) -> Any:
    return x.sum()


def test_what_has_a_name_is_itself() -> None:
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    assert pickle.loads(pickle.dumps(decorated_rows)) is decorated_rows
    rows = tj.jit(decorated_rows)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(rows))(X), rows(X))


def test_copies_are_the_function_itself() -> None:
    slope = tj.grad(f)
    assert copy.copy(slope) is slope and copy.deepcopy({"slope": slope})["slope"] is slope


class Model:
    scale = 2.0

    def energy(self, x: Any) -> Any:
        return self.scale * (x * x).sum()

    force = tj.grad(energy, argnums=1)


def test_functions_in_classes_are_methods() -> None:
    assert Model.force is Model.__dict__["force"]
    np.testing.assert_array_equal(Model().force(X), 4 * X)
    np.testing.assert_array_equal(tj.jit(Model().force)(X), 4 * X)


def test_attributes_of_users_go_along() -> None:
    slope = tj.grad(f)
    slope.unit = "J/m"
    assert pickle.loads(pickle.dumps(slope)).unit == "J/m"
    assert slope.__doc__ is f.__doc__ and slope.__wrapped__ is f and slope.__module__ == __name__


def test_functions_of_no_name_are_cloudpickles() -> None:
    g = cloudpickle.loads(cloudpickle.dumps(tj.grad(lambda x: (X * x).sum())))
    np.testing.assert_array_equal(g(X), X)
    assert cloudpickle.loads(cloudpickle.dumps(tj.vmap(f)))(X).shape == (2,)


def test_a_recipe_is_that_of_one_function() -> None:
    """functools.wraps copies attributes: a user's wrapper must not be taken for what it wraps."""
    slope = tj.grad(f)

    @functools.wraps(slope)
    def doubled(x: Any) -> Any:
        return 2 * slope(x)

    again = cloudpickle.loads(cloudpickle.dumps(tj.jit(doubled)))
    np.testing.assert_allclose(again(X), 2 * slope(X))
    with pytest.raises(Exception, match=r"[Cc]an't pickle"):
        pickle.dumps(tj.jit(doubled))


def test_compiled_functions() -> None:
    jitted = MADE["jit"]
    for x, k in ((X, 3.0), (np.asfortranarray(X), np.float32(2)), (X[:, :1], 2)):
        lowered = jitted.lower(x, k)
        again = pickle.loads(pickle.dumps(lowered))
        assert str(again.jaxpr) == str(lowered.jaxpr)
        compiled = pickle.loads(pickle.dumps(lowered.compile()))
        assert compiled(x, k) == jitted(x, k)
        with pytest.raises(TypeError, match="was compiled for"):
            compiled(x[:1], k)


def looping(x: Any) -> Any:
    total = x[0]
    for i in range(50):
        if x[i % 3] > 0.5:
            total += np.sin(x).sum() * i
    return total


@pytest.mark.parametrize(
    "g", [f, tj.jit(looping), tj.grad(f), lambda x: tj.lax.scan(lambda c, a: (c + a, c), 0.0, x)]
)
def test_jaxprs(g: Any) -> None:
    x = X[0].copy()
    closed = tj.make_jaxpr(g)(x)
    again = pickle.loads(pickle.dumps(closed))
    assert str(again) == str(closed), "with the lines of the program"
    given = [*closed.consts, x]
    for a, b in zip(native.execute(closed.jaxpr, given), native.execute(again.jaxpr, given), strict=True):
        np.testing.assert_array_equal(a, b)


PROGRAM = """
import concurrent.futures, multiprocessing, sys
import numpy as np, tracejit as tj

def f(x):
    return (np.sin(x) ** 2).sum()

slopes = tj.jit(tj.vmap(tj.grad(f)))

@tj.jit
def decorated(x):
    return x + 1

def call(g, x):
    return g(x), sum(g.trace_count for g in [g] if hasattr(g, "trace_count"))

def run(g, x):
    return g(x)

if __name__ == "__main__":
    x = np.arange(6.0).reshape(2, 3)
    given = [slopes, decorated, decorated.lower(x).compile(), tj.jit(f), tj.grad(f), tj.vmap(f)]
    want = [g(x) for g in given]
    pool = sys.argv[1]
    if pool in ("joblib", "dask", "distributed", "ray"):  # which pickle by cloudpickle
        given += [tj.grad(lambda x: (x**2).sum())]
        want += [given[-1](x)]
    if pool == "joblib":
        import joblib
        got = joblib.Parallel(n_jobs=2)(joblib.delayed(g)(x) for g in given)
    elif pool == "dask":
        import dask
        got = dask.compute(*[dask.delayed(run)(g, x) for g in given], scheduler="processes", num_workers=2)
    elif pool == "distributed":
        from dask.distributed import Client, LocalCluster
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as c, Client(c) as client:
            got = client.gather([client.submit(run, g, x) for g in given])
    elif pool == "ray":
        import ray
        ray.init(num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False)
        task = ray.remote(run)
        got = ray.get([task.remote(g, x) for g in given])
        ray.shutdown()
    elif pool == "fork":  # of a process that has compiled
        with multiprocessing.get_context("fork").Pool(2) as workers:
            got = workers.starmap(run, [(g, x) for g in given])
    elif pool == "spawn":
        with multiprocessing.get_context("spawn").Pool(1) as workers:
            got = workers.starmap(run, [(g, x) for g in given])
    else:
        context = multiprocessing.get_context("forkserver")
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
            got = list(pool.map(call, given, [x] * len(given)))
        assert [count for _, count in got] == [1, 1, 0, 1, 0, 0], got
        got = [value for value, _ in got]
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)
    print("equal")
"""


_POOLS = {
    "fork": None,
    "spawn": None,
    "joblib": "joblib",
    "dask": "dask",
    "distributed": "distributed",
    "ray": "ray",
}


@pytest.mark.parametrize(
    "pool", ["futures", *(pytest.param(p, marks=pytest.mark.exhaustive) for p in _POOLS)]
)
def test_worker_processes(pool: str, tmp_path: Path) -> None:
    if (package := _POOLS.get(pool)) is not None:
        pytest.importorskip(package)
    if pool == "fork" and not hasattr(os, "fork"):
        pytest.skip("there is no fork here")
    (tmp_path / "program.py").write_text(PROGRAM)
    found = [str(Path(tj.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    run = subprocess.run(
        [sys.executable, "program.py", pool], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": os.pathsep.join(found), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
    )  # fmt: skip
    assert run.stdout == "equal\n", run.stderr
