import dataclasses

import pytest

from tracejit import __main__ as cli
from tracejit.ir.primitive import REGISTRY, Op, all_ops


def test_the_rule_matrix_has_no_hole(capsys):
    assert cli.main(["ops"]) == 0
    out = capsys.readouterr().out
    assert "0 holes" in out
    assert all(op.name in out for op in all_ops())
    head = out.splitlines()[0].split()
    assert head[1:] == list(cli.SLOTS)


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


def test_doctor(capsys):
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    for word in ("numpy", "llvm", "processor", "threads", "blas"):
        assert word in out


def test_version_and_usage(capsys):
    with pytest.raises(SystemExit) as e:
        cli.main(["--version"])
    assert e.value.code == 0
    with pytest.raises(SystemExit):
        cli.main([])
    assert "command" in capsys.readouterr().err


def test_the_demo_is_found():
    path = cli.demo_file()
    assert path is not None and path.name == "digits.py"
