"""What rewritten functions call: this module is a constant of their code."""

from tracejit.frontend.rewrite.branches import if_, ifexp
from tracejit.frontend.rewrite.calls import builtin
from tracejit.frontend.rewrite.conditions import and_, assert_, chain, in_, not_, or_, raised
from tracejit.frontend.rewrite.loops import loop, while_

__all__ = [
    "and_",
    "assert_",
    "builtin",
    "chain",
    "if_",
    "ifexp",
    "in_",
    "loop",
    "not_",
    "or_",
    "raised",
    "while_",
]
