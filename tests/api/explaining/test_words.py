"""Words: every rule says why, in terms of facts that its notes have."""

from __future__ import annotations

import string

from tracejit.api.explaining.words import RULES, TOPICS

FACTS = {
    "other",
    "elements",
    "others",
    "by",
    "reads",
    "cost",
    "nests",
    "size",
    "arrays",
    "routine",
    "work",
    "cached",
}
FACTS |= {"memory", "bytes", "count", "again", "share", "blocks", "before", "after", "reason", "remedy"}


def test_rules() -> None:
    for name, words in RULES.items():
        assert name.partition(":")[0] in TOPICS and words.why and not words.why.endswith(".")
        assert not words.remedy or words.remedy.endswith(".") or words.remedy == "{remedy}"
        fields = {f for t in (words.why, words.remedy) for _, f, _, _ in string.Formatter().parse(t) if f}
        assert fields <= FACTS | {"least", "name"}, name
