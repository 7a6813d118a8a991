"""Installed packages are followed like the user's own code, but for those that compute in C or do other things."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import tracejit as tj
from tracejit.frontend.origins import is_library_file, is_part_followed

SOURCE = """
import numpy as np

SCALE = 2.0


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return scaled(x) * self.factor


def scaled(x):
    if x.sum() > 0:
        return x * SCALE
    return -x
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    site = tmp_path / "site-packages"
    (site / "scaling_of_arrays").mkdir(parents=True)
    (site / "scaling_of_arrays" / "__init__.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(site)
    yield importlib.import_module("scaling_of_arrays")
    del sys.modules["scaling_of_arrays"]


def test_functions_of_installed_packages_are_compiled(package) -> None:  # type: ignore[no-untyped-def]
    f = tj.jit(package.scaled, fallback=False)
    x = np.arange(3.0)
    assert f(x).tolist() == [0, 2, 4] and f(-x).tolist() == [0, 1, 2]
    g = tj.jit(lambda x: package.Scaled(x[1])(x), fallback=False)
    assert g(x).tolist() == [0, 2, 4] and g(3 * x).tolist() == [0, 18, 36]


def test_what_they_read_is_guarded(package, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    f = tj.jit(lambda x: package.scaled(x) + 1, fallback=False)
    x = np.arange(3.0)
    assert f(x).tolist() == [1, 3, 5]
    monkeypatch.setattr(package, "SCALE", 10.0)
    assert f(x).tolist() == [1, 11, 21]
    monkeypatch.setattr(package, "scaled", lambda x: x)
    assert f(x).tolist() == [1, 2, 3]


def test_whose_files_are_a_librarys() -> None:
    assert (
        is_library_file(np.__file__) and is_library_file(tj.__file__) and is_library_file(importlib.__file__)
    )
    assert is_library_file("/usr/lib/python3/dist-packages/sympy/core/add.py")
    assert not is_library_file("/usr/lib/python3/dist-packages/sympy_like/add.py")
    assert not is_library_file("/home/me/.venv/lib/python3.12/site-packages/control.py")
    assert is_library_file("/home/me/.venv/lib/python3.12/site-packages/tqdm.py") and not is_library_file(
        "<stdin>"
    )


@pytest.mark.parametrize(
    ("module", "followed"),
    [
        ("scipy.sparse", True),
        ("scipy.sparse._csr", True),
        ("scipy.sparse._sparsetools", False),
        ("scipy.sparse._csparsetools", False),
        ("scipy.sparse.csgraph", False),
        ("scipy.sparse.csgraph._tools", False),
        ("scipy.sparse.linalg._isolve.iterative", True),
        ("scipy.sparsest", False),
        ("numba.typed.traced", True),
        ("scipy", False),
        (None, False),
    ],
)
def test_parts_of_libraries(module: str | None, followed: bool) -> None:
    assert is_part_followed(module) is followed
