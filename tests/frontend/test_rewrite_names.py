"""Syntax trees that others have hung things on, as IPython does when it shows a traceback."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.frontend.rewrite.source.names import copied

CELL = """
def settle(x):
    s = 0.0
    for i in range(1000):
        if s > {limit}:
            s = s * 0.5
        s = s + x[i % 3]
    return s
"""


@pytest.fixture
def annotated() -> Iterator[None]:
    """What `executing` and `asttokens` do: every node, CPython's shared ones too, refers to where it is."""
    tree = ast.parse(CELL.format(limit=5) * 30)
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            child.parent = node  # type: ignore[attr-defined]
        node._hidden, node.depth = [tree, node], 0  # type: ignore[attr-defined]
    yield
    for node in list(ast.walk(tree)):
        for name in {"parent", "_hidden", "depth"} & set(vars(node)):
            delattr(node, name)


def cell(number: int, source: str) -> Any:
    """A function that a cell of a notebook defines."""
    name = f"<ipython-input-{number}-tracejit>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    names: dict[str, Any] = {}
    exec(compile(source, name, "exec"), names)
    return names["settle"]


def test_copies_have_what_the_grammar_says(annotated: None) -> None:
    node = ast.parse("x = a[i % 3] + 1").body[0]
    new = copied(node)
    assert ast.dump(new, include_attributes=True) == ast.dump(node, include_attributes=True)
    assert any(hasattr(n, "parent") for n in ast.walk(node)) and not any(
        hasattr(n, "parent") for n in ast.walk(new)
    )
    assert all(n is not m for n, m in zip(ast.walk(new), ast.walk(node), strict=True) if n._fields)


def test_cells_of_notebooks_after_an_error(annotated: None) -> None:
    x = np.ones(3)
    for number, limit in enumerate((5, 7)):  # the cell is run, changed and run again
        f = cell(number, CELL.format(limit=limit))
        assert tj.jit(f)(x) == f(x)
        assert "native loop" in str(tj.explain(f)(x))
