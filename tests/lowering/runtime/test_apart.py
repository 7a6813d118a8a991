"""Modules that another process compiles."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from tests.lowering.native import call, pointwise
from tracejit.lowering.llvm import cpu
from tracejit.lowering.runtime import apart
from tracejit.lowering.runtime import compile as machine

SLEEPS = "import time; time.sleep(100)"
F8 = np.dtype(np.float64)


@pytest.fixture(scope="module")
def text() -> str:
    return machine.stripped(cpu.emit(pointwise(lambda k, x: x * 3.0 + 1.0, [F8], F8)))


def test_the_object_is_the_one_of_this_process(text):
    module = apart.Apart(text)
    assert module.wait(60.0) and module not in apart._running
    made = module.object
    assert made == machine.object_of(text) and made is not None
    x = np.arange(5.0)
    out = np.empty_like(x)
    call(machine.compile_llvm(text + "\n", make=lambda _: made), [x, out], (x.size,))
    assert out.tolist() == (x * 3 + 1).tolist()


def test_what_fails_there_has_no_object(text, monkeypatch):
    monkeypatch.setattr(apart, "_PROGRAM", "raise SystemExit(1)")
    module = apart.Apart(text)
    assert module.wait() and module.object is None


def test_nobody_waits_longer_than_is_wanted(text, monkeypatch):
    monkeypatch.setattr(apart, "_PROGRAM", SLEEPS)
    module = apart.Apart(text)
    assert not module.wait(0.0)
    module.end()
    assert module.wait() and module.object is None and not apart._running


def test_an_interrupt_while_waiting_ends_it(text, monkeypatch):
    monkeypatch.setattr(apart, "_PROGRAM", SLEEPS)
    module = apart.Apart(text)

    class Interrupted:
        def wait(self, seconds):
            raise KeyboardInterrupt

        def set(self):
            pass

    monkeypatch.setattr(module, "_ended", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        module.wait()
    assert module._process.poll() is not None


@pytest.mark.parametrize("seconds", [None, 10.0])
def test_small_modules_are_compiled_here(text, seconds):
    assert apart.started(text, seconds) is None


@pytest.mark.parametrize("executable", ["", "/opt/app/blender", None])
def test_applications_that_have_python_inside_are_not_started(text, monkeypatch, executable):
    monkeypatch.setattr(sys, "executable", executable)
    assert apart.started(text, 0.0) is None
    with pytest.raises(OSError, match="no Python"):
        apart.Apart(text)


PROGRAM = """
import os, sys, time, warnings
import tracejit as tj
from tracejit.api.jit import later
from tracejit.lowering.runtime import apart

apart._PROGRAM = "import time; time.sleep(100)"  # LLVM that takes long
warnings.simplefilter("ignore")
tj.config.fallback = True
f = tj.jit(lambda x: x * 2)
with tj.config.override(compile_budget=1e-9):
    assert f(1.5) == 3.0
while not apart._running:
    time.sleep(0.01)
print([module._process.pid for module in apart._running][0], flush=True)
assert tj.jit(lambda x: x * 2 + 1)(1.5) == 4.0  # others are compiled meanwhile
child = os.fork()
if not child:
    assert not later._jobs and f(2.5) == 5.0 and not f.python.refused  # compiled here
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert f(2.5) == 5.0 and f.python.refused and apart._running
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_and_the_end_of_the_process_do_not_wait():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)  # it was ended with the process that asked for it
