"""Which names of a loop are one of some known strings, or variants, so that its steps have values of one form."""

from __future__ import annotations

from typing import Any

from tracejit.frontend.rewrite.blocks.cells import UNBOUND
from tracejit.frontend.rewrite.blocks.state import promoted
from tracejit.frontend.rewrite.names import NAMES
from tracejit.frontend.text import choices
from tracejit.frontend.variants import node, which
from tracejit.tracing import STATE


class Options:
    """What is known of the names of one loop."""

    def __init__(self) -> None:
        self.texts: dict[str, tuple[str, ...]] = {}  # the known strings of which names are one
        self.forms: dict[str, tuple[node.Form, ...]] = {}
        self.seen: dict[str, int] = {}  # where else (`node`) the tuples may be that names may be

    def among(self, name: str, x: Any) -> Any:
        """The value of a name as one of its options."""
        x = choices.among(x, self.texts.get(name))
        forms = self.forms.get(name)
        if forms is None or x is UNBOUND:
            return x
        seen = self.seen.get(name, 0)
        if type(x) is node.Variant and x._tj_forms == forms and x._tj_seen == seen:
            return x
        mine = node.forms_of(x)
        if mine is None or not {*mine} <= {*forms}:
            return x
        return node.of_rows(forms, node.rows(x, forms), seen)

    def more(self, name: str, before: Any, after: Any, mixes: bool) -> bool:
        """Whether a name that is one thing before a step and another after it has more options than were known.
        `mixes`: it may be a variant, since a step before the loop would not help."""
        texts = choices.common(before, after)
        if texts is not None and texts != self.texts.get(name) and len(texts) > 1:
            self.texts[name] = texts
            return True
        return mixes and before is not UNBOUND and self._more_forms(name, before, after)

    def _more_forms(self, name: str, before: Any, after: Any) -> bool:
        variants = any(type(x) is node.Variant for x in (before, after))
        a, b = node.forms_of(before), node.forms_of(after)
        if a is None or b is None or NAMES.one_type or STATE.numbers is not None:
            return False
        if not variants and a != b and not _apart(a[0], b[0]):
            return False
        forms = node.joined(self.forms.get(name, a), b)
        seen = max(which.seen(before), which.seen(after), which.HERE if type(before) is tuple else 0)
        if (
            forms is None
            or len(forms) < 2
            or (forms == self.forms.get(name) and seen <= self.seen.get(name, 0))
        ):
            return False
        self.forms[name] = forms
        if seen:
            self.seen[name] = max(seen, self.seen.get(name, 0))
        return True


def _apart(a: node.Form, b: node.Form) -> bool:
    """Whether no number of one type can be both."""
    if isinstance(a, node.Parts) and isinstance(b, node.Parts):
        return len(a.of) != len(b.of) or any(map(_apart, a.of, b.of))
    if isinstance(a, node.Number) and isinstance(b, node.Number):
        return a != b and promoted(a.dtype, a.weak, b.dtype, b.weak) is None
    return a != b
