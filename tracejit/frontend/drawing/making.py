"""Generators that traced code makes: `np.random.default_rng(seed)`, `RandomState(seed)`, `random.Random(seed)`."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tracejit.control.generators.draws import Made, Static
from tracejit.control.generators.ops import make_op
from tracejit.frontend.drawing.arguments import Arguments
from tracejit.frontend.drawing.sources import Source, is_drawing, made, seeded, source_of
from tracejit.interpreters.generators import Handle
from tracejit.tracing import Box, bind

#: What makes generators, and their classes.
CLASSES: dict[Any, Handle] = {
    np.random.default_rng: Handle(np.random.Generator, np.random.PCG64),
    np.random.RandomState: Handle(np.random.RandomState, np.random.MT19937),
    random.Random: Handle(random.Random, type(None)),
}
_SEEDS = (int, str, bytes, float, bytearray)


def known_seed(x: Any) -> Any:
    """A seed as a number: refused if it is not known, or its argument is made static."""
    return x.__index__() if type(x) is Box else x


def generator(session: Any, make: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What stands for the new generator."""
    given = (*args, *kwargs.values())
    if make is np.random.default_rng and len(given) == 1 and is_drawing(given[0]):
        same = source_of(given[0])
        if same.classes.generator is np.random.Generator:
            return given[0]
    source = Source(session, CLASSES[make], f"`{make.__name__}`")
    if any(map(is_drawing, given)):
        raise source.refuse(make.__name__, "it is made from another generator")
    traced = any(type(x) is Box for x in given)
    if not traced and not all(x is None for x in given):
        return _known(session, make, args, kwargs)
    found = Arguments(source, make.__name__, dict(enumerate(given)))  # type: ignore[arg-type]
    if traced and all(type(x) is Static for a in found.arguments for x in a.leaves):
        return _known(
            session, make, [known_seed(x) for x in args], {k: known_seed(x) for k, x in kwargs.items()}
        )
    keywords = (*(None for _ in args), *kwargs)
    (raw,) = bind(make_op, *found.operands, make=Made(make, found.arguments, keywords), count=1)
    return made(session, CLASSES[make], raw)


def _known(session: Any, make: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """One whose seed is known. Of a bit generator, which others may draw from too, it is the real one."""
    x = make(*args, **kwargs)
    shared = any(
        isinstance(a, (np.random.BitGenerator, np.random.SeedSequence)) for a in (*args, *kwargs.values())
    )
    return x if shared or Handle.of(x) != CLASSES[make] else seeded(session, x)
