"""`match` statements as `if` statements, which become branches where a condition is traced.

    match k:                        _tj_subject_1 = k
        case 0 | 1: ...             if _tj_subject_1 == 0 or _tj_subject_1 == 1: ...
        case [a, b]: ...            elif hooks.is_sequence(_tj_subject_1, 2, False): a = _tj_subject_1[0]; ...
        case n if n < 0: ...        else: n = _tj_subject_1
                                          if n < 0: ...

Names that a pattern binds stay bound where the guard does not hold; after a pattern that may not fit, a name of ours
has the guard (`_tj_guard_1`). `case int():` and `case int(n):` are `isinstance`, `case {"a": x, **rest}:` is
`hooks.has_keys` and then `x = _tj_subject_1["a"]`. What another class pattern looks at stays Python's, as does a
`match` that has one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.errors import UnfollowedError
from tracejit.frontend.lists.buffers import Buffer
from tracejit.frontend.lists.columns import Columns
from tracejit.frontend.lists.tables import Table
from tracejit.frontend.rewrite.source.escapes import at
from tracejit.frontend.rewrite.source.names import copied, walk
from tracejit.frontend.shadows.growing import Growing
from tracejit.frontend.variants.node import Variant, use
from tracejit.numpy.ufuncs import TABLE
from tracejit.tracing import Box, box

#: Whether arrays are sequences to `match`, which its type says by a flag (Py_TPFLAGS_SEQUENCE): since NumPy 2.5.
_ARRAYS_ARE = bool(np.ndarray.__flags__ & 1 << 5)


def is_sequence(x: Any, size: int, more: bool) -> Any:
    """Whether a sequence pattern of `size` parts (or `more`, with a star) fits."""
    if isinstance(x, (Box, np.ndarray)):
        if not _ARRAYS_ARE or x.ndim == 0:
            return False
    elif isinstance(x, (Buffer, Growing)):
        count = x.tj_count()
        return count >= size if more else count == size
    elif hasattr(type(x), "tj_example"):
        raise UnfollowedError(what="a list or range in a `match` statement", reason="its length is traced")
    elif not isinstance(x, Sequence) or isinstance(x, (str, bytes, bytearray)):
        return False
    return len(x) >= size if more else len(x) == size


def is_singleton(x: Any, value: Any) -> Any:
    """`case True` and `case False`: the object itself, for which a traced Python boolean stands."""
    if type(x) is Variant:
        return use.each(x, lambda v: is_singleton(v, value))
    if type(x) is Box and x.weak and x.aval.dtype.kind == "b" and value is not None:
        return x if value else box(TABLE["logical_not"](x).read(), weak=True)
    return x is value


def whole(cls: Any) -> Any:
    """The class of a pattern `int(x)`, whose part is the object itself.

    Raises UnfollowedError for a class of the user's of this name."""
    if cls not in _WHOLE:
        raise UnfollowedError(
            what=f"a pattern of the class `{cls!r}`", reason="it has the name of one of Python's"
        )
    return cls


def _both(a: Any, b: Box) -> Box:
    return b if a is True else box(TABLE["logical_and"](a, b).read(), weak=True)


def has_keys(x: Any, keys: tuple[Any, ...]) -> Any:
    """Whether a mapping pattern with these keys fits."""
    if isinstance(x, Table):
        found: Any = not x.tj_is_set
        for key in keys if found else ():
            found = _both(found, x.tj_has(key))
        return found
    if hasattr(type(x), "tj_example"):
        raise UnfollowedError(what="a list or range in a `match` statement", reason="its length is traced")
    if not isinstance(x, Mapping):
        return False
    if len(set(keys)) < len(keys):
        raise ValueError("mapping pattern checks duplicate key")
    return all(x.get(key, _ABSENT) is not _ABSENT for key in keys)


def others(x: Any, keys: tuple[Any, ...]) -> Any:
    """What `**rest` is: a dict without these keys."""
    if isinstance(x, Table):
        if keys or x.tj_of is not dict:
            raise UnfollowedError(
                what="the rest of a dict in a `match` statement", reason="its length is traced"
            )
        return x.copy()
    return {key: value for key, value in x.items() if key not in keys}


def matched(x: Any, parts: bool) -> Any:
    """The subject of a `match` statement that stays Python's and has patterns of numbers, for `parts` of it too, or of
    containers: what is traced would not fit.

    Raises UnfollowedError."""
    if any(isinstance(leaf, Columns) for leaf in tree.leaves(x)):
        raise UnfollowedError(
            what="a list, dict or set in a `match` statement", reason="its length is traced"
        )
    if any(type(leaf) is Variant for leaf in tree.leaves(x, is_leaf=lambda v: type(v) is Variant)):
        raise UnfollowedError(what="a value in a `match` statement", reason="its type depends on conditions")
    for leaf in tree.leaves(x) if parts else [x]:
        if type(leaf) is Box and (leaf.scalar or leaf.weak):
            reason = "a pattern asks for its class"
            raise UnfollowedError(what="a traced number in a `match` statement", reason=reason)
    return x


def _is_number(p: Any) -> bool:
    """Whether it is a class pattern of numbers."""
    return isinstance(p, ast.MatchClass) and isinstance(p.cls, ast.Name) and p.cls.id in _NUMBERS


def _of_subject(p: Any) -> list[Any]:
    """The patterns that the subject itself has to fit, not parts of it."""
    if isinstance(p, ast.MatchOr):
        return [q for option in p.patterns for q in _of_subject(option)]
    if isinstance(p, ast.MatchAs) and p.pattern is not None:
        return _of_subject(p.pattern)
    return [p]


def _asks_for_class(p: ast.MatchClass) -> bool:
    """Whether it is `int()`, `np.generic()` or the like: a class without patterns of parts."""
    return not (p.patterns or p.kwd_patterns)


def _takes_whole(p: ast.MatchClass) -> bool:
    """Whether it is `int(x)` or the like."""
    return isinstance(p.cls, ast.Name) and p.cls.id in _NAMES and len(p.patterns) == 1 and not p.kwd_patterns


_WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
_NAMES = frozenset(cls.__name__ for cls in _WHOLE)
_ABSENT = object()
_CONTAINERS = (ast.MatchMapping, ast.MatchSequence)
_NUMBERS = frozenset({"bool", "int", "float", "complex", "object"})


class Unsuitable(Exception):
    """A `match` statement that stays Python's."""


class Matches(ast.NodeTransformer):
    """Rewrites the `match` statements of one function. `hook(name, *args)` makes calls of hooks."""

    def __init__(self, hook: Callable[..., ast.Call]) -> None:
        self.hook = hook
        self.count = self.guards = 0
        self.hooked = 0  # statements that stay Python's, of which the subject is looked at

    def visit_Match(self, s: ast.Match) -> Any:
        self.generic_visit(s)
        self.count += 1
        name = f"_tj_subject_{self.count}"
        try:
            cases = [(c, *self._case(c, ast.Name(name, ast.Load()))) for c in s.cases]
        except Unsuitable:
            self.count -= 1
            own = [p for c in s.cases for p in _of_subject(c.pattern)]
            inner = [n for c in s.cases for n in ast.walk(c.pattern) if _is_number(n) and n not in own]
            held = any(isinstance(n, _CONTAINERS) for c in s.cases for n in ast.walk(c.pattern))
            if inner or held or any(isinstance(p, ast.MatchClass) for p in own):
                self.hooked += 1
                parts = ast.Constant(bool(inner))
                s.subject = at(self.hook("matched", s.subject, parts), s.subject)
            return s
        first = at(ast.Assign([ast.Name(name, ast.Store())], s.subject), s)
        rest: list[Any] = []
        for case, test, bound in reversed(cases):
            rest = self._chosen(case, test, bound, rest)
        return [first, *rest]

    def _chosen(
        self, c: ast.match_case, test: ast.expr | None, bound: list[Any], rest: list[Any]
    ) -> list[Any]:
        """The statements of a case, and of those after it if it is not this one."""
        if c.guard is None:
            body = [*bound, *c.body]
            return body if test is None else [at(ast.If(test, body, rest), c.pattern)]
        if test is None:
            return [*bound, at(ast.If(c.guard, c.body, rest), c.guard)]
        if not bound:
            both = ast.BoolOp(ast.And(), [test, c.guard])
            return [at(ast.If(at(both, c.pattern), c.body, rest), c.pattern)]
        self.guards += 1
        name = f"_tj_guard_{self.guards}"
        no = at(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(False)), c.pattern)
        asked = at(ast.Assign([ast.Name(name, ast.Store())], c.guard), c.guard)
        return [
            no,
            at(ast.If(test, [*bound, asked], []), c.pattern),
            at(ast.If(ast.Name(name, ast.Load()), c.body, rest), c.guard),
        ]

    def visit_FunctionDef(self, s: Any) -> Any:
        return s  # a function defined here is rewritten by itself

    visit_AsyncFunctionDef: Any = visit_FunctionDef
    visit_ClassDef: Any = visit_FunctionDef
    visit_Lambda: Any = visit_FunctionDef

    def _case(self, c: ast.match_case, subject: ast.expr) -> tuple[ast.expr | None, list[Any]]:
        """(whether the pattern fits, or None if it always does; the assignments of what is bound)."""
        tests: list[ast.expr] = []
        names: dict[str, ast.expr] = {}
        self._pattern(c.pattern, subject, tests, names)
        bound = [at(ast.Assign([ast.Name(n, ast.Store())], v), c.pattern) for n, v in names.items()]
        test = None if not tests else tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
        return test and at(test, c.pattern), bound

    def _pattern(self, p: ast.pattern, x: ast.expr, tests: list[Any], names: dict[str, ast.expr]) -> None:
        if isinstance(p, ast.MatchValue):
            tests.append(ast.Compare(_copy(x), [ast.Eq()], [p.value]))
        elif isinstance(p, ast.MatchSingleton):
            tests.append(self.hook("is_singleton", _copy(x), ast.Constant(p.value)))
        elif isinstance(p, ast.MatchAs):
            if p.pattern is not None:
                self._pattern(p.pattern, x, tests, names)
            if p.name is not None:
                names[p.name] = _copy(x)
        elif isinstance(p, ast.MatchOr):
            tests.append(self._either(p, x))
        elif isinstance(p, ast.MatchSequence):
            self._sequence(p, x, tests, names)
        elif isinstance(p, ast.MatchClass) and _asks_for_class(p):
            tests.append(self.hook("is_instance", _copy(x), p.cls))
        elif isinstance(p, ast.MatchClass) and _takes_whole(p):
            tests.append(self.hook("is_instance", _copy(x), self.hook("whole", p.cls)))
            self._pattern(p.patterns[0], x, tests, names)
        elif isinstance(p, ast.MatchMapping):
            keys = ast.Tuple([_copy(k) for k in p.keys], ast.Load())
            tests.append(self.hook("has_keys", _copy(x), keys))
            for key, q in zip(p.keys, p.patterns, strict=True):
                self._pattern(q, ast.Subscript(_copy(x), _copy(key), ast.Load()), tests, names)
            if p.rest is not None:
                names[p.rest] = self.hook("others", _copy(x), _copy(keys))
        else:
            raise Unsuitable

    def _either(self, p: ast.MatchOr, x: ast.expr) -> ast.expr:
        """`a | b`; alternatives that bind names stay Python's."""
        found: list[ast.expr] = []
        for option in p.patterns:
            tests: list[ast.expr] = []
            names: dict[str, ast.expr] = {}
            self._pattern(option, x, tests, names)
            if names or not tests:
                raise Unsuitable
            found.append(tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests))
        return ast.BoolOp(ast.Or(), found)

    def _sequence(self, p: ast.MatchSequence, x: ast.expr, tests: list[Any], names: dict[str, Any]) -> None:
        stars = [n for n, q in enumerate(p.patterns) if isinstance(q, ast.MatchStar)]
        size = len(p.patterns) - len(stars)
        tests.append(self.hook("is_sequence", _copy(x), ast.Constant(size), ast.Constant(bool(stars))))
        for n, q in enumerate(p.patterns):
            after = n - len(p.patterns)  # places after the star count from the end
            if not isinstance(q, ast.MatchStar):
                place = ast.Constant(n if not stars or n < stars[0] else after)
                self._pattern(q, ast.Subscript(_copy(x), place, ast.Load()), tests, names)
            elif q.name is not None:
                end = None if after == -1 else ast.Constant(after + 1)
                part = ast.Subscript(_copy(x), ast.Slice(ast.Constant(n), end, None), ast.Load())
                names[q.name] = ast.List([ast.Starred(part, ast.Load())], ast.Load())


def _copy(e: Any) -> Any:
    return copied(e)


def has_matches(body: list[Any]) -> bool:
    """Whether a function's own statements have a `match`."""
    return any(isinstance(n, ast.Match) for n in walk(body))
