import dataclasses
import os
import subprocess
import sys

import numpy as np
import pytest

import tracejit as tj
from tracejit import __main__ as cli
from tracejit.config import config
from tracejit.ir.primitive import REGISTRY, Op, all_ops
from tracejit.lowering.runtime import blas
from tracejit.lowering.runtime import cache as disk


def test_the_rule_matrix_has_no_hole(capsys):
    assert cli.main(["ops"]) == 0
    out = capsys.readouterr().out
    assert "0 holes" in out
    assert all(op.name in out for op in all_ops())
    head = out.splitlines()[0].split()
    assert head[1:] == list(cli.SLOTS)


def test_without_a_command_it_says_which_there_are(capsys):
    assert cli.main([]) == 2
    said = capsys.readouterr().out
    assert all(name in said for name in ("show", "draw", "bench", "profile", "doctor"))


@pytest.mark.skipif(os.name != "posix", reason="pipes of a shell")
def test_a_reader_that_goes_away_is_no_error():
    command = [sys.executable, "-m", "tracejit", "ops", "--doc"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdout.close()
        assert child.stderr.read() == b"" and child.wait() == 0


def test_the_matrix_shows_every_slot():
    slots = {f.name for f in dataclasses.fields(Op)}
    assert slots - {"name", "doc", "multi"} == set(cli.SLOTS)


def test_a_hole_fails(capsys):
    record = dataclasses.asdict(next(all_ops())) | {"name": "toy_hole", "jvp": None}
    op = Op(**record)
    try:
        assert cli.main(["ops"]) == 1
        assert "toy_hole.jvp" in capsys.readouterr().out
    finally:
        del REGISTRY[op.name]


def test_one_line_on_each_op(capsys):
    assert cli.main(["ops", "--doc"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(REGISTRY)


def test_help(capsys):
    assert cli.main(["help", "tj009"]) == 0
    assert "IndexOutOfRangeError" in capsys.readouterr().out
    assert cli.main(["help"]) == 0
    assert "TJ003  ShapeError" in capsys.readouterr().out
    assert cli.main(["help", "TJ999"]) == 1


def test_the_disk_cache(tmp_path, capsys):
    folder = tmp_path / "cache"

    def cache(action: str) -> tuple[int, str]:
        status = cli.main(["cache", action])
        return status, "".join(capsys.readouterr())

    tj.jit(lambda x: x + 1)(np.ones(3))  # what all programs share is compiled
    with config.override(cache=folder, cache_mb=7):
        assert "entries  0" in cache("info")[1]
        tj.clear_caches()
        tj.jit(lambda x: x * 1.0625)(np.ones(3))
        kept = list(folder.iterdir())
        status, text = cache("info")
        assert status == 0 and f"folder   {folder}\n" in text and "of at most 7 MiB" in text
        assert f"entries  {len(kept)}, of them {len(kept)} made by this version" in text
        assert cache("verify") == (0, f"{len(kept)} sound entries, 0 others\n")
        kept[0].write_bytes(kept[0].read_bytes()[:100])
        status, text = cache("verify")
        assert status == 1 and f"removed {kept[0]}: its length is wrong\n" in text
        assert "made by this version" in cache("info")[1] and not kept[0].exists()
        tj.clear_caches()
        tj.jit(lambda x: x * 1.0625)(np.ones(3))
        kept = list(folder.iterdir())  # what processes share is written once
        assert cache("clear") == (0, f"removed {len(kept)} files from {folder}\n")
        folder.chmod(0o777)
        disk._opened.cache_clear()  # a process looks once
        status, text = cache("info")
        assert status == 1 and "other users may write to it" in text
    with config.override(cache=f"ro:{tmp_path / 'other'}"):
        assert "(read only)" in cache("info")[1]
    with config.override(cache="off"):
        assert "off" in cache("clear")[1]


def test_doctor(capsys):
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    for word in ("numpy", "llvm", "processor", "threads", "blas"):
        assert word in out


def test_doctor_tells_which_kernels_blas_has_chosen(monkeypatch, capsys):
    if not blas.kernels():
        pytest.skip("this BLAS does not tell")
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    cli.main(["doctor"])
    assert f"kernels for {blas.kernels()}\n" in capsys.readouterr().out
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Nehalem")
    cli.main(["doctor"])
    assert f"kernels for {blas.kernels()} by OPENBLAS_CORETYPE\n" in capsys.readouterr().out


def test_version():
    with pytest.raises(SystemExit) as e:
        cli.main(["--version"])
    assert e.value.code == 0


def test_the_demo_says_what_it_needs(monkeypatch, capsys):
    """A wheel in an environment with nothing else."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert cli.main(["demo"]) == 1
    assert "pip install rich scikit-learn" in capsys.readouterr().err


def test_the_demo_is_found():
    path = cli.demo_file()
    assert path is not None and path.name == "digits.py"
