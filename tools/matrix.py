"""`make test-matrix`: a sample of the tests under each Python that this machine has, with old and with new libraries.

    python tools/matrix.py [folder] [tests ...]

For every interpreter among python3.11 to python3.14 that is on the PATH, or kept by pyenv, two virtual environments are
made in `folder`: one with the lower bounds of pyproject.toml, one with the newest versions that pip finds. A line says
how the tests went in each, or why there is none. The exit status is 1 if tests failed somewhere.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
#: Tests that touch every room, and what depends on Python's version most: how functions are read. They take minutes.
SAMPLE = [
    "tests/test_readme.py",
    "tests/test_rules.py",
    "tests/test_docstrings.py",
    "tests/numpy",
    "tests/api",
    "tests/frontend",
]
NEEDED = ("pytest", "hypothesis", "mpmath")


def requirements(oldest: bool) -> list[str]:
    """What is installed: the libraries of pyproject.toml, and what the tests need."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    libraries = project["dependencies"]
    if oldest:
        libraries = [re.sub(r">=(\d+(?:\.\d+)?)(.*)", _first, line) for line in libraries]
    return [
        *libraries,
        *(line for line in project["optional-dependencies"]["test"] if line.startswith(NEEDED)),
    ]


def _first(bound: re.Match[str]) -> str:
    """The first minor version that a lower bound allows, with its repairs."""
    version = bound[1] if "." in bound[1] else bound[1] + ".0"
    return f"=={version}.*{bound[2]}"


def interpreter(version: str) -> str | None:
    """The program of this version, if it is there and runs: what the PATH has (of which pyenv's stand-ins run the
    versions only that are switched on), or one that pyenv keeps."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [shutil.which(f"python{version}"), *sorted(kept.glob(f"{version}.*/bin/python{version}"))]
    for program in map(str, filter(None, found)):
        if subprocess.run([program, "-c", "import venv"], capture_output=True).returncode == 0:
            return program
    return None


def trial(python: str, folder: Path, oldest: bool, tests: list[str]) -> str:
    """Install and test; one line on how it went."""
    program = folder / "bin" / "python"
    if not program.exists():
        subprocess.run([python, "-m", "venv", folder], check=True)
    install = [
        program,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *requirements(oldest),
    ]
    done = subprocess.run(install, capture_output=True, text=True)
    if done.returncode:
        return "no such libraries: " + done.stderr.strip().splitlines()[-1]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [program, "-m", "pytest", "-q", "-m", "not exhaustive", *tests]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    (folder / "tests.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    lines = done.stdout.strip().splitlines() or ["no output"]
    return ("" if done.returncode == 0 else "FAILED: ") + lines[-1] + f" ({folder / 'tests.log'})"


def main(folder: Path, tests: list[str]) -> int:
    failed = False
    for version in PYTHONS:
        python = interpreter(version)
        if python is None:
            print(f"python{version}: not on this machine")
            continue
        for kind in ("oldest", "newest"):
            said = trial(python, folder / f"{version}-{kind}", kind == "oldest", tests)
            failed = failed or said.startswith("FAILED")
            print(f"python{version}, {kind} libraries: {said}", flush=True)
    return int(failed)


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(Path(given[0] if given else ROOT / "build" / "matrix").absolute(), given[1:] or SAMPLE))
