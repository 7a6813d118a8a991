"""Which tuples variants are: whether that is known, and what a run hands out of which it would have to be."""

from __future__ import annotations

from typing import Any

from tracejit import tree
from tracejit.errors.refusals import may_number
from tracejit.frontend import active
from tracejit.frontend.variants.node import Parts, Variant, refusal

#: Where else than in a name a tuple may be.
HERE, OUTSIDE = 1, 2


def has_tuples(x: Any) -> bool:
    """Whether it may be a tuple with something in it, of which somebody may ask which one it is."""
    return type(x) is Variant and any(isinstance(f, Parts) and f.of for f in x._tj_forms)


def is_numbered(x: Variant) -> bool:
    """Whether the tuples that it may be have numbers."""
    return all(f.numbered for f in x._tj_forms if isinstance(f, Parts) and f.of)


def seen(x: Any) -> int:
    """Where else a value may be that becomes one of several: `OUTSIDE` if it is a tuple of outside, or has one."""
    if type(x) is Variant:
        return x._tj_seen
    session = active.session()
    if type(x) is not tuple or session is None:
        return 0
    may_be = (x, *(o.container for o in session.choices.options(x)))
    return OUTSIDE if any(map(session.is_outside, may_be)) else max(map(seen, x), default=0)


def _variants(x: Any) -> list[Variant]:
    """Those in a value that may be tuples."""
    session = active.session()
    if session is None or not session.has_variants:
        return []
    try:
        return [v for v in tree.leaves(x, is_leaf=lambda v: type(v) is Variant) if has_tuples(v)]
    except RecursionError as e:
        raise refusal("beside a container that holds itself") from e


def check_result(out: Any) -> None:
    """Raises UnfollowedError where it could be seen which tuple a variant in a result is."""
    found = [v for v in _variants(out) if not is_numbered(v)]
    outside = any(v._tj_seen == OUTSIDE for v in found)
    if len(found) > 1 or outside or (found and found[0] is not out and found[0]._tj_seen):
        raise may_number(refusal("a tuple that may be in two places of the result"))


def check_change(value: Any) -> None:
    """The same of what a run leaves somewhere of outside."""
    if not all(map(is_numbered, _variants(value))):
        raise may_number(refusal("a tuple that is put somewhere outside"))
