"""What failed checks raise can be stored."""

from __future__ import annotations

import ast
from pathlib import Path

import tracejit as tj

PACKAGE = Path(tj.__file__).parent


def test_what_makes_exceptions_is_a_record() -> None:
    """Each class that makes the exception of a check is a record, whose fields are stored (see `checks.describe`)."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "def __call__(self, details: tuple[int, ...], where" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef) and any(
                isinstance(f, ast.FunctionDef)
                and f.name == "__call__"
                and f.args.args[1:2]
                and f.args.args[1].arg == "details"
                for f in node.body
            ):
                found[node.name] = any("record" in ast.unparse(d) for d in node.decorator_list)
    assert len(found) > 8 and {name for name, is_record in found.items() if not is_record} == {"Raise"}
