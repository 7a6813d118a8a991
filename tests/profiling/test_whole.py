"""Whole processes: the command, and the environment variable."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracejit import __main__ as cli
from tracejit.errors import ProfileSuffixError
from tracejit.profiling import whole
from tracejit.timeline import SWITCH

ROOT = Path(__file__).parents[2]
SCRIPT = """
import os, sys
import numpy as np
import tracejit as tj

f = tj.jit(lambda x: np.exp(x).sum())
for _ in range(5):
    f(np.zeros(4000))
print("arguments", sys.argv[1:], __name__)
if "child" in sys.argv:
    if os.fork() == 0:
        sys.exit()
    os.wait()
if "fail" in sys.argv:
    sys.exit(3)
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def test_the_command(script, tmp_path, capsys):
    out = tmp_path / "t.json"
    argv, path = list(sys.argv), list(sys.path)
    assert cli.main(["profile", "-o", str(out), "--limit", "9", str(script), "--epochs", "3"]) == 0
    said = capsys.readouterr()
    assert "arguments ['--epochs', '3'] __main__" in said.out
    assert "profile of" in said.err and "LLVM" in said.err and "written" in said.err
    assert [e for e in json.loads(out.read_text())["traceEvents"] if e.get("cat") == "entry"]
    assert (sys.argv, sys.path) == (argv, path)


def test_scripts_that_end_otherwise(script, capsys):
    with pytest.raises(SystemExit) as e:
        cli.main(["profile", str(script), "fail"])
    assert e.value.code == 3 and "profile of" in capsys.readouterr().err
    assert cli.main(["profile", "nothing.py"]) == 2
    with pytest.raises(ProfileSuffixError):
        cli.main(["profile", "-o", "x.pdf", str(script)])


def test_the_example_of_the_help(capsys):
    with pytest.raises(SystemExit):
        cli.main(["profile", "--help"])
    assert whole.EXAMPLE in capsys.readouterr().out.replace("\n", " ")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_the_environment_variable(script, tmp_path):
    out = tmp_path / "whole.speedscope.json"
    env = {**os.environ, "TRACEJIT_PROFILE": str(out), "PYTHONPATH": str(ROOT)}
    env.pop("TRACEJIT_PROFILE_OWNER", None)
    command = [sys.executable, "-W", "ignore::DeprecationWarning", str(script), "child"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.count("arguments") == 1 and not done.stderr
    sums = json.loads(out.read_text())["profiles"][0]
    assert sums["samples"]


def test_other_processes_write_nothing(monkeypatch):
    monkeypatch.setenv("TRACEJIT_PROFILE_OWNER", "1")
    whole.begin("x.json")
    assert not SWITCH.on
    with pytest.raises(ProfileSuffixError):
        whole.begin("x-%p.pdf")
