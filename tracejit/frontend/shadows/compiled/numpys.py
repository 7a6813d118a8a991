"""Functions of `np.vectorize`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.frontend.paths import Node
from tracejit.frontend.shadows import objects
from tracejit.numpy.functions.arrays.mapping import vectorize

if TYPE_CHECKING:
    from tracejit.frontend.run import Run


def wrap_numpys(session: Run, node: Node, value: Any) -> Any:
    """`np.vectorize` of a function: the traced form, of the copy of the function."""
    if value.pyfunc is np._NoValue:  # a decorator with options
        return objects.wrap_object(session, node, value)
    session.check(node, "is", value)
    known = session.known(value)
    if known is not None:
        return known
    here = node.named(value)
    options = {n: getattr(value, n) for n in ("otypes", "cache", "signature")}
    for name, held in options.items():
        session.check(here.attr(name), "value", held)
    session.check(here.attr("excluded"), "set", frozenset(value.excluded))
    followed = session.wrap(here.attr("pyfunc"), value.pyfunc)
    made = vectorize(followed, excluded=value.excluded, **options)
    return session.remember(value, made, node)
