"""FILE:FUNCTION and --args."""

import sys

import numpy as np
import pytest

from tracejit.errors import TargetError
from tracejit.terminal import targets

FILE = """
import numpy as np
from dataclasses import dataclass

SIZE = 3

@dataclass
class Model:
    scale: float = 2.0
    def apply(self, x):
        return self.scale * x

def step(x, n=1):
    return x * n

assert __name__ == "mine_of_targets"
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = tmp_path / "mine_of_targets.py"
    path.write_text(FILE)
    yield str(path)
    sys.modules.pop("mine_of_targets", None)


def test_arguments_use_the_names_of_the_file(file):
    found = targets.load(f"{file}:step", "np.ones(SIZE), n=2")
    assert found.args[0].tolist() == [1, 1, 1] and found.kwargs == {"n": 2}
    args, kwargs = found.fresh()
    assert found.function(*args, **kwargs).tolist() == [2, 2, 2]
    args[0][:] = 7
    assert found.args[0].tolist() == [1, 1, 1]
    assert targets.load(f"{file}:Model.apply", "Model(), 1.0").args[1] == 1.0
    assert targets.load("numpy:linspace", "0, 1").function is np.linspace


@pytest.mark.parametrize(
    "target, arguments, reason",
    [
        ("step", "", "no colon"),
        ("FILE:stop", "", "no function `stop`; there are step"),
        ("FILE:SIZE", "", "no function `SIZE`"),
        ("FILE:step", "1,,", "are no Python"),
        ("FILE:step", "unknown", "'unknown' raise NameError: name 'unknown' is not defined"),
        ("FILE:step", "", "missing a required argument: 'x'"),
        ("FILE:step", "1, 2, 3", "too many positional arguments"),
        ("nowhere.py:f", "", "no file nowhere.py"),
        ("no_such_module:f", "", "no file or module no_such_module"),
    ],
)
def test_what_is_wrong_is_said(file, target, arguments, reason):
    with pytest.raises(TargetError, match=reason):
        targets.load(target.replace("FILE", file), arguments)


def test_exceptions_of_the_file_are_the_users(tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0")
    with pytest.raises(ZeroDivisionError):
        targets.load(f"{tmp_path / 'broken.py'}:f")
