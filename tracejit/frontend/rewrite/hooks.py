"""What rewritten functions call: this module is a constant of their code."""

from tracejit.frontend.rewrite.bound import bound
from tracejit.frontend.rewrite.branches import if_, ifexp
from tracejit.frontend.rewrite.calls import builtin
from tracejit.frontend.rewrite.conditions import and_, assert_, chain, in_, not_, or_, raised
from tracejit.frontend.rewrite.loops import comprehension, loop, while_
from tracejit.frontend.rewrite.matches import is_sequence, is_singleton
from tracejit.frontend.rewrite.tries import tried

__all__ = [
    "and_",
    "assert_",
    "bound",
    "builtin",
    "chain",
    "comprehension",
    "if_",
    "ifexp",
    "in_",
    "is_sequence",
    "is_singleton",
    "loop",
    "not_",
    "or_",
    "raised",
    "tried",
    "while_",
]
