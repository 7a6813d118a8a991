"""Smaller programs that fail in the same way: statements and parts of expressions deleted, as long as it fails."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.storms.checking import Outcome, check

FOLDER = Path(__file__).parents[1] / "regressions" / "stateful"
#: Programs that are tried for one minimisation.
BUDGET = 1500


def minimise(source: str, budget: int = BUDGET) -> str:
    """The smallest program found that fails as `source` does.

    After a cut the search goes on at the same place, so that a round through the program tries each cut once."""
    wanted = sort_of(check(source))
    tree, progress = ast.parse(source), True
    while progress and budget > 0:
        progress, at = False, 0
        while budget > 0 and (smaller := _first_that_fails(tree, at, budget, wanted)):
            tree, at, tried = smaller
            budget, progress = budget - tried, True
        budget -= 1
    return ast.unparse(tree) + "\n"


def _first_that_fails(
    tree: ast.Module, at: int, budget: int, wanted: tuple[str, ...]
) -> tuple[ast.Module, int, int] | None:
    """The first candidate from the one of this number on that fails, its number, and how many were tried."""
    for n, make in enumerate(candidates(tree)):
        if n >= at + budget:
            return None
        if n >= at and still_fails(smaller := make(), wanted):
            return smaller, n, n - at + 1
    return None


def sort_of(outcome: Outcome) -> tuple[str, ...]:
    """What two failures have in common if they are the same: how, and where the difference is."""
    first = outcome.why.partition("\n")[0]
    return outcome.kind, first.partition(":")[
        0
    ] if outcome.kind == "crash" else "without" if "without" in first else ""


def still_fails(tree: ast.Module, wanted: tuple[str, ...]) -> bool:
    try:
        source = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        outcome = check(source)
    except Exception:  # no program any more
        return False
    return outcome.fails and sort_of(outcome) == wanted


Maker = Callable[[], ast.Module]


def candidates(tree: ast.Module) -> Iterator[Maker]:
    """What makes the module with one thing less, large cuts first. Paths name nodes, so that each one is a copy."""
    bodies = list(_bodies(tree, ()))
    for path, field, n in bodies:  # halves
        if n > 3:
            for part in (slice(0, n // 2), slice(n // 2, n)):
                yield partial(_cut, tree, path, field, part)
    for path, field, n in bodies:
        for k in reversed(range(n)):
            yield partial(_cut, tree, path, field, slice(k, k + 1))
    for path, field, n in bodies:
        for k in range(n):
            yield from _hoisted(tree, path, field, k)
    yield from _simpler_expressions(tree)


def _bodies(node: ast.AST, path: tuple[object, ...]) -> Iterator[tuple[tuple[object, ...], str, int]]:
    """(path to a node, its field with statements, how many)."""
    for field, value in ast.iter_fields(node):
        if (
            isinstance(value, list)
            and value
            and isinstance(value[0], (ast.stmt, ast.excepthandler, ast.match_case))
        ):
            yield path, field, len(value)
            for k, child in enumerate(value):
                yield from _bodies(child, (*path, field, k))


def _at(tree: ast.AST, path: tuple[object, ...]) -> ast.AST:
    node = tree
    for step in path:
        node = node[step] if isinstance(step, int) else getattr(node, step)  # type: ignore[index,call-overload]
    return node


def _cut(tree: ast.Module, path: tuple[object, ...], field: str, part: slice) -> ast.Module:
    new = copy.deepcopy(tree)
    body = getattr(_at(new, path), field)
    del body[part]
    if not body and field in ("body",):
        body.append(ast.Pass())
    return new


def _hoisted(tree: ast.Module, path: tuple[object, ...], field: str, k: int) -> Iterator[Maker]:
    """A compound statement replaced by its body."""
    old = getattr(_at(tree, path), field)[k]
    if isinstance(old, (ast.If, ast.For, ast.While, ast.Try, ast.With)):
        for inner in ("body", "orelse", "finalbody"):
            if getattr(old, inner, None):
                yield partial(_with_its_body, tree, path, field, k, inner)


def _with_its_body(tree: ast.Module, path: tuple[object, ...], field: str, k: int, inner: str) -> ast.Module:
    new = copy.deepcopy(tree)
    body = getattr(_at(new, path), field)
    body[k : k + 1] = getattr(body[k], inner)
    return new


def _simpler_expressions(tree: ast.Module) -> Iterator[Maker]:
    """An expression replaced by a part of it, a tuple or list with an element less."""
    for n, node in enumerate(list(ast.walk(tree))):
        if isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) > 1 and isinstance(node.ctx, ast.Load):
            for k in range(len(node.elts)):
                yield partial(_without_element, tree, n, k)
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and not isinstance(value, (ast.Name, ast.Constant)):
                for m, part in enumerate(_parts(value)):
                    if not isinstance(getattr(part, "ctx", None), ast.Store):
                        yield partial(_with_a_part, tree, n, field, m)


def _without_element(tree: ast.Module, n: int, k: int) -> ast.Module:
    new = copy.deepcopy(tree)
    del _nth(new, n).elts[k]  # type: ignore[attr-defined]
    return new


def _with_a_part(tree: ast.Module, n: int, field: str, m: int) -> ast.Module:
    new = copy.deepcopy(tree)
    target = _nth(new, n)
    setattr(target, field, list(_parts(getattr(target, field)))[m])
    return new


def _nth(tree: ast.AST, n: int) -> ast.AST:
    for k, node in enumerate(ast.walk(tree)):
        if k == n:
            return node
    raise IndexError(n)


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    return (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))


def save(source: str, name: str, outcome: Outcome, folder: Path = FOLDER) -> Path:
    """Write the program to a file, which the tests run from then on."""
    path = folder / f"{name}.py"
    folder.mkdir(exist_ok=True)
    why = " ".join(outcome.why.split()).replace('"""', "'''").replace("\\", "/")[:150]
    path.write_text(f'"""{outcome.kind.capitalize()} once: {why}"""\n\n{source}', encoding="utf-8")
    return path
