"""How programs print."""

from __future__ import annotations

import re

import numpy as np

import tracejit as tj
from tracejit import lax
from tracejit.ir.pretty import Namer, format_jaxpr

X = np.ones(3)


def test_an_equation_with_its_line() -> None:
    text = str(tj.make_jaxpr(lambda a: np.cos(a))(X))
    assert re.search(r"^  let b:f64\[3\] = cos a   # test_pretty\.py:\d+$", text, re.MULTILINE), text
    assert text.startswith("{ lambda a:f64[3] .\n") and text.endswith("\n  in (b,) }")


def test_without_lines() -> None:
    text = format_jaxpr(tj.make_jaxpr(lambda a: np.cos(a))(X), source=False)
    assert text == "{ lambda a:f64[3] .\n  let b:f64[3] = cos a\n  in (b,) }"


def test_constants_come_before_a_semicolon() -> None:
    w = np.ones(3)
    assert str(tj.make_jaxpr(lambda x: w * x)(X)).startswith("{ lambda a:f64[3] ; b:f64[3] .")


def test_literals_and_params() -> None:
    text = format_jaxpr(tj.make_jaxpr(lambda x: (x * 2.0).sum())(X), source=False)
    assert "let b:f64[3] = mul a 2.0" in text and "let c:f64[] = reduce_sum[axes=(0,)] b" in text


def test_regions_are_indented_below_their_equation() -> None:
    text = str(tj.make_jaxpr(lambda x: lax.cond(x[0] > 0, np.sin, np.cos, x))(X))
    lines = [line for line in text.splitlines() if "sin" in line or "cos a" in line]
    assert len(lines) == 2 and all(line.startswith("        ") for line in lines), text


def test_dynamic_extents_show_their_bound() -> None:
    text = str(tj.make_jaxpr(lambda x: lax.fori_loop(0, 3, lambda i, c: c + x[:i].sum(), 0.0))(X))
    assert re.search(r"f64\[\w+<=\d\]", text), text


def test_names_go_on_after_z() -> None:
    name = Namer()
    names = [name(n) for n in range(703)]
    assert (names[0], names[25], names[26], names[702]) == ("a", "z", "aa", "aaa")
    assert len(set(names)) == len(names) and name(0) == "a"
