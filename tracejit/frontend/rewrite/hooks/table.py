"""What rewritten functions call: this module is a constant of their code."""

from tracejit.frontend.lists.orders import attribute as member
from tracejit.frontend.lists.orders import unread
from tracejit.frontend.rewrite.hooks.branches import if_, ifexp
from tracejit.frontend.rewrite.hooks.calls import builtin
from tracejit.frontend.rewrite.hooks.comprehensions import comprehension
from tracejit.frontend.rewrite.hooks.conditions import (
    all_,
    and_,
    any_,
    assert_,
    chain,
    in_,
    is_,
    not_,
    or_,
    raised,
    thrown,
)
from tracejit.frontend.rewrite.hooks.folds import over
from tracejit.frontend.rewrite.hooks.keys import key, place
from tracejit.frontend.rewrite.hooks.loops import loop, while_
from tracejit.frontend.rewrite.hooks.nests import iterated
from tracejit.frontend.rewrite.hooks.texts import field, method, mod, mul, spec, text
from tracejit.frontend.rewrite.hooks.tries import managed, tried
from tracejit.frontend.rewrite.sized import added, low_bits, low_bits_in, modular, modular_in, sized
from tracejit.frontend.rewrite.source.bound import bound
from tracejit.frontend.rewrite.source.matches import (
    has_keys,
    is_sequence,
    is_singleton,
    matched,
    others,
    whole,
)
from tracejit.frontend.shadows.kinds import callee
from tracejit.frontend.shadows.kinds import traced_isinstance as is_instance
from tracejit.frontend.variants import uses as _  # noqa: F401 - what may be done with variants

__all__ = [
    "added",
    "all_",
    "and_",
    "any_",
    "assert_",
    "bound",
    "builtin",
    "callee",
    "chain",
    "comprehension",
    "field",
    "has_keys",
    "if_",
    "ifexp",
    "in_",
    "is_",
    "is_instance",
    "is_sequence",
    "is_singleton",
    "iterated",
    "key",
    "loop",
    "low_bits",
    "low_bits_in",
    "managed",
    "matched",
    "member",
    "method",
    "mod",
    "modular",
    "modular_in",
    "mul",
    "not_",
    "or_",
    "others",
    "over",
    "place",
    "raised",
    "sized",
    "spec",
    "text",
    "thrown",
    "tried",
    "unread",
    "while_",
    "whole",
]
