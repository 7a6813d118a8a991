"""Programs whose libraries read files, ask for settings or draw numbers: each call does that again."""

from __future__ import annotations

import atexit
import functools
import random
import shutil
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse
import scipy.special
import scipy.stats
import sklearn
import sklearn.model_selection
import sklearn.utils
from numpy import load as load_array
from scipy.io import loadmat

from tests.programs.observe import program


@functools.cache
def _folder() -> str:
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, True)
    return folder


def _changed(write: Callable[[Path, int], None], read: Callable[..., Any]) -> Any:
    """Calls of a program that reads a file; before each, the file gets other contents."""
    path = Path(_folder()) / f"{read.__code__.co_firstlineno}"
    text = str(path)
    write(path, 0)

    def f(x):
        return read(text) * x

    return f, [(1.0,), (2.0,), (3.0,)], None, lambda n: write(path, n)


def _array(path: Path, n: int) -> None:
    with path.open("wb") as f:
        np.save(f, np.arange(3.0) + n)


def _numbers(path: Path, n: int) -> None:
    np.savetxt(path, np.arange(3.0) + n)


def _bytes(path: Path, n: int) -> None:
    (np.arange(3.0) + n).tofile(path)


def _matrix(path: Path, n: int) -> None:
    scipy.io.savemat(path, {"a": np.arange(3.0) + n}, appendmat=False)


@program
def an_array_of_a_file() -> Any:
    return _changed(_array, lambda path: np.load(path))


@program
def an_array_of_a_file_by_other_names() -> Any:
    load = {"array": np.load}
    return _changed(_array, lambda path: load["array"](path) + load_array(path) + next(map(np.load, [path])))


@program
def a_partial_of_load() -> Any:
    load = functools.partial(np.load, allow_pickle=False)
    return _changed(_array, lambda path: load(path).sum())


@program
def a_table_of_text() -> Any:
    return _changed(_numbers, lambda path: np.loadtxt(path))


@program
def a_table_with_gaps() -> Any:
    return _changed(_numbers, lambda path: np.genfromtxt(path).max())


@program
def bytes_of_a_file() -> Any:
    return _changed(_bytes, lambda path: np.fromfile(path))


@program
def records_of_a_file() -> Any:
    return _changed(_bytes, lambda path: np.rec.fromfile(path, formats="f8", shape=3)["f0"])


@program
def a_mapped_file() -> Any:
    return _changed(_array, lambda path: np.lib.format.open_memmap(path, mode="r").sum())


@program
def a_mapped_file_of_outside() -> Any:
    """Read, written and given back by its name, and as an argument."""
    path = Path(_folder()) / "mapped"
    np.arange(6.0).tofile(path)
    held = np.memmap(path, float, "r+", shape=(2, 3))

    def f(x, rows):
        held[0] = held[1] + x
        return held, held.T, np.sin(held) @ x, rows[1] - held

    return f, [(np.arange(3.0), held), (np.ones(3), held * 1.0)], lambda: (held, np.fromfile(path))


@program
def an_array_is_asked_whether_it_is_a_mapped_file() -> Any:
    path = Path(_folder()) / "asked"
    np.arange(6.0).tofile(path)
    held = np.memmap(path, float, "r+")

    def f(x):
        x[0] += 1.0
        if hasattr(x, "flush"):
            x.flush()
        return x * 2, getattr(x, "mode", "none"), getattr(held, "offset", -1)

    return f, [(held,), (np.arange(6.0),), (held,)], lambda: np.fromfile(path)


@program
def a_file_of_matlab() -> Any:
    return _changed(_matrix, lambda path: loadmat(path, appendmat=False)["a"])


@program
def a_sparse_array_of_a_file() -> Any:
    def write(path: Path, n: int) -> None:
        with path.open("wb") as f:
            scipy.sparse.save_npz(f, scipy.sparse.csr_array(np.eye(3) * (n + 1)))

    return _changed(write, lambda path: scipy.sparse.load_npz(path).toarray())


@program
def print_options_are_asked_for() -> Any:
    def f(x):
        return np.array2string(np.arange(3.0) / 7), np.array_str(np.ones(2) / 3), x

    def before(n):
        np.set_printoptions(precision=3 + n)

    return f, [(1.0,), (2.0,), (3.0,)], np.set_printoptions, before


@program
def settings_of_libraries() -> Any:
    def f(x):
        return x * sklearn.get_config()["assume_finite"], scipy.special.geterr()["loss"]

    def before(n):
        sklearn.set_config(assume_finite=n == 1)
        scipy.special.seterr(loss="ignore" if n < 2 else "warn")

    def restore():
        if scipy.special.geterr()["loss"] == "warn":
            scipy.special.seterr(loss="ignore")
        sklearn.set_config(assume_finite=False)

    return f, [(1.0,), (2.0,), (3.0,)], restore, before


# ---------------------------------------------------------------- draws of libraries


def _draws(draw: Callable[[], Any]) -> Any:
    def f(x):
        return draw() * x

    return f, [(1.0,), (2.0,), (3.0,)], None


@program
def variates_of_a_distribution() -> Any:
    return _draws(lambda: scipy.stats.norm.rvs(size=3) + scipy.stats.poisson.rvs(3, size=3))


@program
def variates_of_matrices() -> Any:
    return _draws(lambda: scipy.stats.special_ortho_group.rvs(2))


@program
def variates_of_a_distribution_by_its_parameters() -> Any:
    return lambda x: scipy.stats.gamma.rvs(x, size=2), [(1.0,), (2.0,), (3.0,)], None


@program
def a_shuffle_and_a_split() -> Any:
    a = np.arange(12.0).reshape(6, 2)

    def f(x):
        train, test = sklearn.model_selection.train_test_split(a)
        return sklearn.utils.shuffle(a) * x, train, test

    return f, [(1.0,), (2.0,), (3.0,)], None


@program
def a_split_with_a_seed() -> Any:
    a = np.arange(12.0).reshape(6, 2)
    return _draws(lambda: sklearn.model_selection.train_test_split(a, random_state=0)[0])


@program
def samples_of_python() -> Any:
    return _draws(lambda: statistics.NormalDist(0, 1).samples(3)[0] + random.random())


@program
def designs_without_a_seed() -> Any:
    """Numbers of a generator that a library makes without a seed: what is seen is that they are others each time."""
    last = {"number": np.float64(0.0)}

    def f(x):
        found = scipy.stats.qmc.Halton(2).random(4)[0, 0]
        again = found == last["number"]
        last["number"] = found
        return again, x

    return f, [(1.0,), (1.0,), (1.0,)], None
