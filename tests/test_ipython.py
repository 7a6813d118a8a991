"""Sessions of IPython, which notebooks are too: cells, errors in them, redefinitions, help, completion, Ctrl-C.

The session is a process of its own: a shell changes what belongs to its whole process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("IPython")

SESSION = r'''
import contextlib, io, json, os, signal, sys, warnings
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.completer import provisionalcompleter

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what runs in the background without it
warnings.simplefilter("error")
warnings.filterwarnings("ignore", module="IPython")
shell = InteractiveShell.instance()
shell.run_line_magic("colors", "nocolor")
told = {}


def builtin(error):
    return next(c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins")


def cell(name, source):
    """Run a cell; told[name] is its value or exception, and what it printed."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        done = shell.run_cell(source)
    error = done.error_before_exec or done.error_in_exec
    told[name] = [repr(done.result) if error is None else builtin(error), out.getvalue()]


cell("import", "import numpy as np, tracejit as tj")
cell("error in jit", "tj.jit(lambda x: x[9])(np.ones(3))")
cell("error in grad", "def inner(x):\n    return x[9]\ntj.grad(lambda x: inner(x))(np.ones(3))")
cell("plain error", "1 / 0")
branch = """
@tj.jit
def f(x):
    s = 0.0
    for i in range(1000):
        if x.sum() > i:
            s = s + i
    return s
f(np.ones(4))
"""
cell("branch", branch)
cell("explain", "tj.explain(f)(np.ones(4))")
cell("helper", "def h(x):\n    return x * 2\nk = tj.jit(lambda x: h(x) + 1)\nk(1.0)")
cell("helper again", "def h(x):\n    return x * 3")
cell("helper used", "k(1.0)")
cell("redefined", "@tj.jit\ndef f(x):\n    return x + 1\nf(1.0)")
cell("help", "f?")
cell("help of tracejit", "tj.jit?")
for text in ("tj.gr", "tj.", "tj.config.", "tj.lax.sc"):
    with provisionalcompleter():
        told["completion of " + text] = ["", " ".join(c.text for c in shell.Completer.completions(text, len(text)))]
module = os.path.join(sys.argv[1], "reloaded_by_ipython.py")
sys.path.insert(0, sys.argv[1])
with open(module, "w") as file:
    file.write("def a(x):\n    return x * 2\n")
cell("reloading", "%load_ext autoreload\n%autoreload 2\nimport reloaded_by_ipython as m")
cell("module", "z = tj.jit(lambda x: m.a(x))\nz(1.0)")
with open(module, "w") as file:
    file.write("def a(x):\n    return x * 3000\n")
os.utime(module, (2e9, 2e9))
cell("module reloaded", "z(1.0)")
interrupted = """
import os, signal, threading
@tj.jit
def endless(x):
    for i in range(2_000_000_000):
        x = np.cos(x)
    return x
stopped = threading.Event()
def press():  # again and again: Python loses an exception that comes while an object is destroyed
    while not stopped.wait(0.5):
        os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press, daemon=True).start()
try:
    endless(1.0)
finally:
    stopped.set()
"""
cell("interrupt", interrupted)
cell("after", "f(1.0), k(1.0)")
cell("extension", "%load_ext tracejit")
magic = """%%tracejit
def halved(x):
    for _ in range(100):
        x = x * 0.5
    return x
def unused(x):
    return x
def generated(x):
    yield x
@tj.jit
def own(x):
    return x
number = halved(1.0), list(generated(2.0))
slope = tj.grad(halved)(1.0)
"""
cell("magic", magic)
cell("what the magic made", "number, slope, [type(f).__name__ for f in (halved, unused, own, generated)]")
cell("quiet", "%%tracejit -q\ndef other(x):\n    return x + 1\nother(1.0)")
cell("unknown option", "%%tracejit --quiet\n1")
cell("error in the magic", "%%tracejit\ndef bad(x, i):\n    return x[i]\nbad(np.ones(3), 9)")
cell("no name is left", "[n for n in dir() if 'tracejit_cell' in n], len(get_ipython().ast_transformers)")
sys.stdout.write("\n===" + json.dumps(told))
'''


@pytest.fixture(scope="module")
def told(tmp_path_factory: Any) -> dict[str, Any]:
    """What the cells of a session gave."""
    folder: Path = tmp_path_factory.mktemp("ipython")
    done = subprocess.run(
        [sys.executable, "-c", SESSION, str(folder)],
        capture_output=True, text=True, timeout=120, check=False,
        env={"PATH": "", "HOME": str(folder), "IPYTHONDIR": str(folder), "TRACEJIT_CACHE": "off",
             "PYTHONPATH": str(Path(__file__).parents[1])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.rpartition("===")[2])


def test_cells_give_values_and_exceptions(told):
    values = {name: value for name, (value, _) in told.items()}
    assert {
        "import": "None",
        "error in jit": "IndexError",
        "error in grad": "IndexError",
        "plain error": "ZeroDivisionError",
        "branch": "6.0",  # 0 + 1 + 2 + 3
        "module": "2.0",
        "module reloaded": "3000.0",
        "redefined": "2.0",
        "interrupt": "KeyboardInterrupt",
        "after": "(2.0, 4.0)",
    }.items() <= values.items()
    assert [told[name][0] for name in ("helper", "helper used")] == ["3.0", "4.0"]


def test_tracebacks_show_the_cell(told):
    for name in ("error in jit", "error in grad", "interrupt"):
        text = told[name][1]
        assert "Cell" in text and text.count("tracejit/") <= 3, text
    assert "in inner(x)" in told["error in grad"][1]


def test_reports_and_help_and_completion(told):
    assert "native loop" in told["explain"][0] and "native loop" in told["explain"][1]
    assert "x + 1" in told["help"][1] or "Signature" in told["help"][1]
    assert "Compile `fun`" in told["help of tracejit"][1]
    assert "grad" in told["completion of tj.gr"][1]
    offered = told["completion of tj."][1]
    assert "value_and_grad" in offered and "tracing" not in offered and "lowering" not in offered
    assert (
        "debug_nans" in told["completion of tj.config."][1] and "scan" in told["completion of tj.lax.sc"][1]
    )


def test_the_cell_magic_jits_functions_and_shows_reports(told):
    text = told["magic"][1]
    assert "halved: " in text and "native loop of 100 steps" in text and "unused" not in text
    made = f"(({0.5**100!r}, [2.0]), np.float64({0.5**100!r}), ['Jitted', 'Jitted', 'Jitted', 'function'])"
    assert told["what the magic made"][0] == made
    assert "equations" not in told["quiet"][1] and "2.0" in told["quiet"][1]
    assert told["unknown option"][0] == "Exception"  # a UsageError
    assert "IndexError" in told["error in the magic"][1]
    assert told["no name is left"][0] == "([], 0)"
