"""Code in running text that names something of the reference is a link to it: `tj.grad`, `lax.scan`, `TJ012`."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from tracejit.errors import CODES

_NAME = re.compile(r"(?:tj|tracejit|lax|nn|optim|random)(?:\.\w+)+(?=\W|$)")
_CODE = re.compile(r"TJ\d{3}$")
_ERRORS = {cls.__name__ for cls in CODES.values()}


class NamesAsLinks(SphinxPostTransform):
    """`literal` nodes whose text begins with a documented name, and the codes of errors."""

    default_priority = 15

    def run(self, **kwargs: Any) -> None:
        objects = self.env.domains.python_domain.objects
        for node in list(self.document.findall(nodes.literal)):
            if isinstance(node.parent, nodes.reference) or node.parent.tagname.startswith("desc"):
                continue
            found = objects.get(_full(node.astext()))
            if found is not None and found.docname != self.env.docname:
                uri = self.app.builder.get_relative_uri(self.env.docname, found.docname) + "#" + found.node_id
                link = nodes.reference("", "", internal=True, refuri=uri)
                node.replace_self(link)
                link += node


def _full(text: str) -> str:
    """The full name that code in a text begins with, if it looks like one."""
    if _CODE.match(text):
        return f"tracejit.errors.{CODES[text].__name__}" if text in CODES else ""
    if text.isidentifier() and text in _ERRORS:
        return f"tracejit.errors.{text}"
    match = _NAME.match(text)
    if match is None:
        return ""
    first, _, rest = match.group().partition(".")
    return f"tracejit.{rest}" if first in ("tj", "tracejit") else f"tracejit.{first}.{rest}"
