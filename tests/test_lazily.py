"""What is imported at its first use is all there, whoever asks first."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import tracejit
from tracejit import control, ops
from tracejit.lazily import LazyModule, parts

FOLDERS = [part for name in control.__all__ if hasattr(part := getattr(control, name), "__path__")]
PACKAGES = [tracejit, ops, control, *FOLDERS]


def test_a_module_is_imported_by_its_first_attribute() -> None:
    module = LazyModule("colorsys")
    sys.modules.pop("colorsys", None)
    assert not hasattr(module, "__wrapped__") and "colorsys" not in sys.modules
    assert module.rgb_to_hsv(1, 0, 0) == (0, 1, 1) and "colorsys" in sys.modules
    namespace = LazyModule("colorsys", "rgb_to_hsv")
    assert namespace.__class__ is LazyModule and "hsv" in namespace._load().__name__


def declared(package) -> set[str]:
    """The names that type checkers see a package import."""
    found = set()
    for node in ast.walk(ast.parse(Path(package.__file__).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found |= {a.asname or a.name for a in node.names}
    return found


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.__name__)
def test_type_checkers_see_what_is_there(package) -> None:
    names = set(package.__all__)
    assert names <= declared(package) and names <= set(dir(package))
    for name in names:
        assert getattr(package, name) is vars(package)[name]


@pytest.mark.parametrize("package", [control, *FOLDERS], ids=lambda p: p.__name__)
def test_every_file_is_a_part(package) -> None:
    folder = Path(package.__file__).parent
    files = {p.stem for p in folder.glob("*.py")} | {p.parent.name for p in folder.glob("*/__init__.py")}
    assert {f for f in files if not f.startswith("_")} == set(package.__all__)


def test_every_family_of_ops_is_a_part() -> None:
    """`ops` has the files of its folders, and the packages `special` and `decompositions` as a whole; three files have
    no records."""
    folder = Path(ops.__file__).parent
    files = {p.stem for p in folder.glob("*/*.py") if p.parent.name not in ops.__all__}
    files |= {p.parent.name for p in folder.glob("*/__init__.py") if p.parent.name in ops.__all__}
    assert {f for f in files if not f.startswith("_")} - set(ops.__all__) == {
        "index_batch",
        "places",
        "times",
    }


def test_names_that_are_not_there() -> None:
    get, names = parts("tracejit.ops", ["shape"], {"math": ["pi"]})
    with pytest.raises(AttributeError, match=r"module 'tracejit.ops' has no attribute 'nothing'"):
        get("nothing")
    assert {"shape", "pi"} <= set(names())
    with pytest.raises(AttributeError, match="tracejit"):
        tracejit.nothing  # type: ignore[attr-defined]
    with pytest.raises(ImportError):
        exec("from tracejit import nothing")


def test_any_part_can_be_the_first() -> None:
    """No two modules need each other to be imported before. Each is tried in a process without the others."""
    program = """
import importlib, os, sys, traceback
import tracejit
failed = []
for name in sys.argv[1:]:
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            importlib.import_module(name)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        failed.append(name)
print(failed)
"""
    names = [getattr(p, n).__name__ for p in (ops, control, *FOLDERS) for n in p.__all__]
    names += [f"tracejit.{n}" for n in tracejit._MODULES]
    done = subprocess.run([sys.executable, "-c", program, *names], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_all_ops_are_found_without_using_them() -> None:
    program = """
import sys, tracejit
from tracejit.ir.primitive import REGISTRY
assert "tracejit.ops.decompositions" not in sys.modules or "tracejit.control.scan.op" not in sys.modules
assert "cholesky" in REGISTRY and REGISTRY["scan"].name == "scan" and "no such op" not in REGISTRY
print(len(REGISTRY), len(dict(REGISTRY)), len(list(REGISTRY)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    ours = importlib.import_module("tracejit.ir.primitive").REGISTRY
    assert set(map(int, done.stdout.split())) <= set(range(200, len(ours) + 1))


def test_what_programs_rarely_need_is_not_imported() -> None:
    rare = [f"scipy.{part}" for part in importlib.import_module("tracejit.scipy").TRACED]
    rare += ["lax", "nn", "random", "extend", "test_util", "control.scan.op", "ops.special"]
    rare += ["numpy.linalg", "numpy.fft", "ops.decompositions", "ops.transforms"]
    program = f"import sys, tracejit; print([m for m in {rare} if 'tracejit.' + m in sys.modules])"
    program += "; assert not {'ctypes.util', 'subprocess', 'tempfile', 'scipy', 'numba'} & {*sys.modules}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_scipy_functions_become_ours_when_scipy_is_there() -> None:
    program = """
import numpy as np, sys, tracejit as tj
import scipy.special
f = tj.jit(lambda x: scipy.special.gammaln(x) * np.exp(x))
assert "tracejit.scipy.special" not in sys.modules
assert np.allclose(f(np.array([1.5, 3.0])), scipy.special.gammaln([1.5, 3.0]) * np.exp([1.5, 3.0]))
assert "tracejit.scipy.special" in sys.modules
from scipy.special import erf
import math
assert np.isclose(tj.jit(lambda x: erf(x) + math.gamma(x))(2.5), erf(2.5) + math.gamma(2.5))
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_prompts_offer_what_is_for_users():
    offered = [name for name in dir(tracejit) if not name.startswith("__")]
    assert set(offered) == set(tracejit.__all__) and {"jit", "errors", "random"} <= set(offered)
    assert not {"tracing", "lowering", "TYPE_CHECKING", "REGISTRY", "parts"} & set(offered)
