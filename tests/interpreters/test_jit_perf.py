"""Names for `perf`: the table of lines is read right, and the code is the same."""

from __future__ import annotations

import itertools
import shutil
import subprocess

import numpy as np
import pytest

import tracejit as tj
from tracejit.interpreters import jit_perf


def step(w, x):
    for _ in range(30):
        y = np.tanh(x @ w)
        w = w - 0.01 * (x.T @ (np.exp(-y) + y))
    return w, np.sort(y.ravel())[:3], (np.sin(np.exp(-x * x)) * np.cos(x)).sum()


def operands():
    rng = np.random.default_rng(0)
    return rng.normal(size=(50, 20)), rng.normal(size=(8000, 50)) * 0.1


def machine(f, *args):
    return f.lower(*args).compile()._compiled


@pytest.fixture
def path(tmp_path, monkeypatch):
    file = tmp_path / "perf.map"
    monkeypatch.setattr(jit_perf, "path", lambda: str(file))
    return file


def entries(file):
    return [
        (int(a, 16), int(b, 16), c) for a, b, c in (x.split(" ", 2) for x in file.read_text().splitlines())
    ]


def test_nests_have_names_and_the_same_results(path):
    w, x = operands()
    plain = machine(tj.jit(step), w, x)
    expected = tj.jit(step)(w, x)
    with tj.config.override(perf=True):
        f = tj.jit(step)
        results = f(w, x)
        named = machine(f, w, x)
    assert isinstance(named, jit_perf.Named)
    assert all(np.array_equal(a, b) for a, b in zip(results, expected, strict=True))
    plain_code, named_code = (jit_perf._Elf(m.code.object_bytes).functions for m in (plain, named))
    assert plain_code["entry"][1] == named_code["entry"][1]  # chunks that are alike are not shared
    found = entries(path)
    assert all(a + size <= b for (a, size, _), (b, _, _) in itertools.pairwise(found) if a < b)
    line = step.__code__.co_firstlineno
    wanted = [f"step: dot_general f64[8000,20] (test_jit_perf.py:{line + 2})", "step: machine code"]
    assert set(wanted) <= {text for _, _, text in found}
    assert any(text.startswith("step: add f64[8000,20]") for _, _, text in found)
    elf = jit_perf._Elf(named.code.object_bytes)
    base = named.code.address - elf.functions["entry"][0]
    for start, size in elf.functions.values():  # each byte of a function has one name
        inside = [(a, n) for a, n, _ in found if base + start <= a < base + start + size]
        assert sum(n for _, n in inside) == size


def test_modules_are_told_once(path):
    with tj.config.override(perf=True):
        f = tj.jit(lambda x: np.exp(x) * 3)
        f(np.ones(500))
        before = path.read_text()
        f(np.ones(501))
    assert before and path.read_text().count("\n") >= before.count("\n")


@pytest.mark.skipif(not shutil.which("objdump"), reason="no objdump")
def test_the_table_as_another_program_reads_it(tmp_path, path):
    w, x = operands()
    with tj.config.override(perf=True):
        code = machine(tj.jit(step), w, x).code
    file = tmp_path / "code.o"
    file.write_bytes(code.object_bytes)
    done = subprocess.run(["objdump", "-W", str(file)], capture_output=True, text=True, check=True)
    columns = {int(x.rsplit(" ", 1)[1]) for x in done.stdout.splitlines() if "Set column to" in x}
    assert {c for _, _, c in jit_perf._Elf(code.object_bytes).lines() if c} <= columns | {0}
    symbols = subprocess.run(["objdump", "-t", str(file)], capture_output=True, text=True, check=True).stdout
    rows = [x.split() for x in symbols.splitlines() if x]
    for name, (start, size) in jit_perf._Elf(code.object_bytes).functions.items():
        assert [f"{start:016x}", f"{size:016x}", name] in [[x[0], *x[-2:]] for x in rows]
