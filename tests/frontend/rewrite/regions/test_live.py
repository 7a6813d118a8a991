"""What regions take and give, held against what Python needs."""

from __future__ import annotations

import ast
import textwrap

from tracejit.frontend.rewrite.regions.live import Flow, interface, surely_assigned


def body(text: str) -> list[ast.stmt]:
    return ast.parse(textwrap.dedent(text)).body[0].body  # type: ignore[attr-defined]


def test_a_handler_needs_what_was_bound_anywhere_in_its_try():
    stmts = body(
        """
        def f(x):
            y = 0
            try:
                y = 1
                g()
                y = 2
                return y
            except ValueError:
                return y
            finally:
                print(x)
        """
    )
    flow = Flow(stmts)
    first, _, last, _ = stmts[1].body  # type: ignore[attr-defined]
    assert {"y", "x"} <= flow.out[id(first)] and {"y", "x"} <= flow.out[id(last)]


def test_what_a_with_block_swallows_may_be_read_after_it():
    stmts = body(
        """
        def f(x):
            with suppress(ValueError):
                y = 1
                g()
                y = 2
            return y
        """
    )
    assert "y" in Flow(stmts).out[id(stmts[0].body[0])]  # type: ignore[attr-defined]


def test_only_what_every_way_binds_is_bound_for_sure():
    stmts = body(
        """
        def f(c, xs):
            a, (b, *d) = 1, (2, 3)
            if c:
                e = g = 1
            else:
                e = 2
            for h in xs:
                i = h
            xs[0] = j.k = 3
        """
    )
    assert surely_assigned(stmts) == {"a", "b", "d", "e"}


def test_what_may_stay_as_it_was_is_taken_too():
    stmts = body(
        """
        def f(n, s, x):
            for i in range(n):
                s += x[i]
                last = x[i]
            t = s
        """
    )
    known = {"n", "s", "x", "i", "last", "t"}
    assert interface(stmts, known, frozenset({"t"})) == (("n", "s", "x"), ("t",))
    assert interface(stmts, known, frozenset({"t", "last"})) == (("last", "n", "s", "x"), ("last", "t"))
