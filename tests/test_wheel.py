"""The built wheel, in an environment with nothing else, runs the README's first program."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.exhaustive
def test_the_wheel_runs_the_readme(tmp_path: Path) -> None:
    """Needs the package index: the wheel's dependencies are installed, too."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", tmp_path, ROOT], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "empty", with_pip=True)
    python = tmp_path / "empty" / ("Scripts" if os.name == "nt" else "bin") / "python"
    subprocess.run(
        [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", wheel], check=True
    )
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)[:1]
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "TRACEJIT"))}
    environment = {**clean, "TRACEJIT_CACHE": "off"}
    subprocess.run([python, "program.py"], cwd=tmp_path, env=environment, check=True)
    shown = "import tracejit as tj; print(tj.__file__); assert 'Examples' in tj.numpy.cumsum.__doc__"
    done = subprocess.run(
        [python, "-c", shown], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
    )
    assert str(tmp_path) in done.stdout
