"""Which names are still needed after each statement of a function that Python runs."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tracejit.frontend.rewrite.source.names import NONE, Liveness, Names, assigned


class Flow(Liveness):
    """`out[id(statement)]`: the names needed after it, of every statement."""

    def __init__(self, body: list[ast.stmt], elsewhere: Iterable[str] = ()) -> None:
        self.out: dict[int, Names] = {}
        super().__init__(body, {}, elsewhere)

    def statement(self, s: ast.stmt, out: Names) -> Names:
        out |= self._caught
        self.out[id(s)] = self.out.get(id(s), NONE) | out
        return super().statement(s, out)


def surely_assigned(stmts: Iterable[ast.stmt]) -> set[str]:
    """Names that are bound after `stmts`, whichever way they went."""
    found: set[str] = set()
    for s in stmts:
        if isinstance(s, ast.If):
            found |= surely_assigned(s.body) & surely_assigned(s.orelse)
        elif isinstance(s, (ast.Assign, ast.AugAssign)) or (
            isinstance(s, ast.AnnAssign) and s.value is not None
        ):
            targets = s.targets if isinstance(s, ast.Assign) else [s.target]
            found |= {n.id for t in targets for n in _bare(t)}
    return found


def _bare(target: ast.expr) -> Iterator[ast.Name]:
    """The names that an assignment to `target` binds."""
    if isinstance(target, ast.Name):
        yield target
    elif isinstance(target, (ast.Tuple, ast.List)):
        for e in target.elts:
            yield from _bare(e)
    elif isinstance(target, ast.Starred):
        yield from _bare(target.value)


def interface(
    stmts: list[ast.stmt], known: set[str], after: Names
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(the names that a function of `stmts` takes, those that it gives): of the function's own names `known`.

    What it gives is assigned in `stmts` and needed after them. What may stay as it was is taken too."""
    gives = assigned(stmts) & known & after
    needed = Liveness(stmts, {}).block(stmts, NONE)
    takes = (needed & known) | (gives - surely_assigned(stmts))
    return tuple(sorted(takes)), tuple(sorted(gives))
