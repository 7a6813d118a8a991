"""Vector functions that programs are linked with: compiled once, declared where they are called."""

from __future__ import annotations

import numpy as np
import pytest

from tests.lowering.native import call, pointwise
from tracejit.lowering.llvm import cpu
from tracejit.lowering.llvm.vecmath import library
from tracejit.lowering.runtime import compile as machine

F8 = np.dtype(np.float64)


@pytest.fixture
def compiled(monkeypatch):
    """The texts that LLVM compiles, in a process that has compiled nothing."""
    texts: list[str] = []
    machine._library.cache_clear()
    machine.forget()
    monkeypatch.setattr(
        machine, "object_of", lambda text, original=machine.object_of: texts.append(text) or original(text)
    )
    return texts


def program(name: str, c: float) -> str:
    return cpu.emit(pointwise(lambda k, x: k.math(name, x) + c, [F8], F8))


def evaluated(text: str, x: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    call(machine.compile_llvm(text), [x, out], (x.size,))
    return out


def test_functions_for_rare_arguments_are_compiled_once(compiled):
    x = np.array([1.0, 1e22, -3e300, np.inf, 0.5] * 5)
    with np.errstate(invalid="ignore"):
        want = np.sin(x)
    np.testing.assert_allclose(evaluated(program("sin", 0), x), want, rtol=1e-15)
    first = [("@entry(" in t, "{double, double} @tj.huge.pair(" in t) for t in compiled]
    assert first[0] == (True, False) and (False, True) in first[1:]
    compiled.clear()
    for n in (1, 2):
        np.testing.assert_allclose(evaluated(program("sin", n), x), want + n, rtol=1e-15)
    assert compiled == [program("sin", 1), program("sin", 2)]


def test_long_functions_that_are_called_often_are_compiled_once(compiled):
    def twice(c: float) -> str:
        return cpu.emit(pointwise(lambda k, x: k.math("lgamma", x) + k.math("lgamma", x + c), [F8], F8))

    x = np.linspace(0.5, 40, 37)
    texts = [twice(1.0), twice(2.0)]
    for text in texts:
        evaluated(text, x)
    needed = {n for text in texts for n in library.needed(text)}
    assert {n.name for n in needed} == {"lgamma"}
    assert sum("define double @tj.lgamma.f64(" in t for t in compiled) == 1
    assert not any("define internal double @tj.lgamma.f64(" in t for t in compiled)


def test_a_function_that_is_missing_is_an_error_when_linking(capfd):
    """Not a jump to nowhere."""
    code = machine.compile_llvm(program("sin", 5.0))
    with pytest.raises(RuntimeError, match="materialize"):
        machine._load(code.object_bytes, ["entry"], {})
    assert "Symbols not found: [ tj." in capfd.readouterr().err


def test_what_a_text_needs():
    text = "declare double @tj.pow.any.f64(double %x)\ndeclare <8 x double> @tj.pow.any.f64.v8(<8 x double> %x)\n"
    text += "declare void @tj.huge_tail.f64.lanes(ptr %x)\ndeclare float @tj.exp.f32(float %x)\n"
    assert library.needed(text) == {
        library.Library("pow.any", 8, 512): ["tj.pow.any.f64", "tj.pow.any.f64.v8"],
        library.Library("huge", 8, 0): ["tj.huge_tail.f64.lanes"],
        library.Library("exp", 4, 0): ["tj.exp.f32"],
    }
