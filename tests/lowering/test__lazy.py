"""Modules that load when they are first used."""

from __future__ import annotations

import subprocess
import sys

from tracejit.lowering._lazy import LazyExtension, cython_blas


def run(program: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_an_extension_does_not_load_its_package() -> None:
    """And whoever imports it by name, before or after, has the same one."""
    ours = "from tracejit.lowering._lazy import cython_blas; a = cython_blas.__pyx_capi__\n"
    theirs = "import scipy.linalg.cython_blas; c = scipy.linalg.cython_blas; b = c.__pyx_capi__\n"
    show = "import sys; print('scipy.linalg' in sys.modules)\n"
    same = "print(a['dgemm'] is b['dgemm'], c.__name__, hasattr(scipy.linalg, 'solve'))"
    assert run(ours + show + theirs + same) == ["False", "True", "scipy.linalg.cython_blas", "True"]
    assert run(theirs + ours + show + same) == ["True", "True", "scipy.linalg.cython_blas", "True"]


def test_an_extension_that_is_not_found_is_imported_as_usual() -> None:
    module = LazyExtension("json.decoder.no_such_module")
    try:
        module.anything
    except ImportError as e:
        assert "no_such_module" in str(e)
    else:
        raise AssertionError
    assert "dgemm" in cython_blas.__pyx_capi__
