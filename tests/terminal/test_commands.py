"""The subcommands, by the examples that their help shows."""

import shlex
import sys
from pathlib import Path

import pytest

from tracejit import __main__ as cli
from tracejit.config import config
from tracejit.errors import FallbackWarning
from tracejit.profiling import whole
from tracejit.terminal import commands

ROOT = Path(__file__).parents[2]
#: Those of `profile` and `demo` need a script of the user's, and half a minute: tests of their own run them.
EXAMPLES = {**cli.EXAMPLES, **commands.EXAMPLES}
ELSEWHERE = {"demo"}


@pytest.fixture(autouse=True)
def here(monkeypatch, tmp_path):
    """At the root of the source, where the examples are; what files add to `sys.path` goes away."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    with config.override(fallback=True, cache=tmp_path):
        yield
    for name in ("stencils", "mine_of_commands"):
        if name not in known:
            sys.modules.pop(name, None)


def run(line, tmp_path):
    words = shlex.split(line)
    assert words[:3] == ["python", "-m", "tracejit"]
    return cli.main([str(tmp_path / "out.svg") if w.endswith(".svg") else w for w in words[3:]])


#: It asks every function of SciPy: four seconds.
SLOW = pytest.param("coverage", marks=pytest.mark.exhaustive)


@pytest.mark.parametrize("name", [SLOW, *sorted(EXAMPLES.keys() - ELSEWHERE - {"coverage"})])
def test_the_example_of_the_help(name, tmp_path, capsys):
    with pytest.raises(SystemExit):
        cli.main([name, "--help"])
    flat = " ".join(capsys.readouterr().out.split())
    assert "example: " + EXAMPLES[name] in flat
    assert run(EXAMPLES[name], tmp_path) == 0
    out = capsys.readouterr().out
    wanted = {"show": "native loop", "draw": "is written", "bench": "results are the same"}
    assert wanted.get(name, "") in out and out
    assert name != "draw" or "<svg" in (tmp_path / "out.svg").read_text()


def test_every_command_has_an_example(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    out = capsys.readouterr().out
    assert all(name in out for name in (*EXAMPLES, "profile")) and whole.EXAMPLE


FILE = """
import numpy as np

def f(x):
    return np.sum(np.sin(x))

def acts(x):
    open("/dev/null").close()
    return x
"""


def test_gradients_fallbacks_and_mistakes(tmp_path, capsys):
    path = tmp_path / "mine_of_commands.py"
    path.write_text(FILE)
    assert cli.main(["show", f"{path}:f", "--args", "np.ones(3)", "--grad", "--stage", "loops"]) == 0
    out = capsys.readouterr().out
    assert "cos(" in out and "equations" in out
    assert cli.main(["show", f"{path}:acts", "--args", "1.0", "--stage", "loops"]) == 1
    assert "TJ221" in capsys.readouterr().out
    with pytest.warns(FallbackWarning):
        assert cli.main(["bench", f"{path}:acts", "--args", "1.0", "--seconds", "0"]) == 0
    assert "Python runs it" in " ".join(capsys.readouterr().out.split())
    assert cli.main(["show", f"{path}:g"]) == 2
    assert "TJ290" in capsys.readouterr().err
    for wrong in (["-o", "x.bmp"], ["--stage", "optimised"]):  # said in words, without a traceback
        assert cli.main(["draw", f"{path}:f", "--args", "np.ones(3)", *wrong]) == 2
        assert "help TJ27" in capsys.readouterr().err
