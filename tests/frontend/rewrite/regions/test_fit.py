"""Which statements may be parts of regions: what acts outside of a part does not."""

from __future__ import annotations

import ast

import pytest

from tracejit.frontend.rewrite.regions.fit import against


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("y = x + 1", None),
        ("for i in range(9):\n    own.append(i)", None),
        ("own.sort()", None),
        ("other.append(1)", "`other.append(1)` acts outside of the part"),
        ("y = [k for k in x if other.append(k)]", "`other.append(k)` acts outside of the part"),
        ("self.own.append(1)", "`self.own.append(1)` acts outside of the part"),
        ("other.index(1)", None),
        ("print(x)", "`print(x)` acts outside of the part"),
        ("if x > 0:\n    input()", "`input()` acts outside of the part"),
        ("shown(x)", None),
        ("y, (shared, z) = x", "it binds `shared`, which other functions share"),
        ("pass", "it does nothing"),
        ("raise ValueError", "`raise` has another way out"),
        ("if x:\n    break", "`if` has another way out"),
        ("for i in x:\n    break", None),
        ("for i in x:\n    y = i\nelse:\n    continue", "`for` has another way out"),
    ],
)
def test_statements(statement: str, why: str | None) -> None:
    assert against(ast.parse(statement).body[0], {"shared"}, {"own"}) == why
