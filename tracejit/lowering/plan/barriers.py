"""Where nests were cut: what stands between two nests over the same elements, and reads the one for the other.

For notes only: nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from tracejit.ir.jaxpr import Eqn, Jaxpr, Var
from tracejit.ir.kernel import Composite, CondRegion, Contract, Routine, ScanRegion, UserCode, WhileRegion
from tracejit.lowering.notes import Notes, place
from tracejit.lowering.plan.groups import Group

#: (equation, its nest, a nest that it could not be part of, why not).
Apart = tuple[Eqn, Group, Group, str]


def tell_split(
    notes: Notes, jaxpr: Jaxpr, groups: Sequence[Group], apart: Iterable[Apart], opaque: Collection[Eqn]
) -> None:
    """Note what ended a nest: of those that were to become one with a later nest over the same elements, what has to
    run in between. `groups` are in the order of execution."""
    before = _before(jaxpr, groups)
    told: set[Group] = set()
    for _, first, second, why in apart:
        if why != "too late" or first.domain != second.domain or not second.members or not first.members:
            continue
        for between in _between(groups, first, second, before):
            if between not in told:
                told.add(between)
                eqn = between.members[-1]
                facts = {"before": place(first.members[-1]), "after": place(second.members[-1])}
                notes.about(f"split: {_kind(eqn, eqn in opaque)}", eqn, **facts)


def _before(jaxpr: Jaxpr, groups: Sequence[Group]) -> dict[Group, int]:
    """Of each group the groups that have to run before it, by their data, as bits by their positions in `groups`."""
    bits = {e: 1 << n for n, g in enumerate(groups) for e in g.members}
    reached: dict[Var, int] = {}
    found = dict.fromkeys(groups, 0)
    home = {e: g for g in groups for e in g.members}
    for e in jaxpr.eqns:
        mask = 0
        for a in e.invars:
            mask |= reached.get(a, 0) if type(a) is Var else 0
        if e in home:
            found[home[e]] |= mask
            mask |= bits[e]
        reached.update(dict.fromkeys(e.outvars, mask))
    return found


def _between(
    groups: Sequence[Group], first: Group, second: Group, before: dict[Group, int]
) -> Iterator[Group]:
    """What has to run between two groups: calls, products, loops, and what needs all elements; where data does not ask
    for it, the last check."""
    begin, end = groups.index(first), groups.index(second)
    inner = [(n, groups[n]) for n in range(begin + 1, end) if groups[n].members]
    forced = [
        g
        for n, g in inner
        if before[g] >> begin & 1 and before[second] >> n & 1 and g.kind not in ("map", "scalars")
    ]
    checks = [g for _, g in inner if any("error" in e.effects for e in g.members)]
    yield from forced or checks[-1:]


def _kind(eqn: Eqn, opaque: bool) -> str:
    """The rule by which an equation ends a nest."""
    kernel = eqn.op.kernel
    if opaque:
        has_routine = isinstance(kernel, (Composite, Routine)) and kernel.routine is not None
        callback = eqn.params.get("callback")
        by_python = isinstance(kernel, UserCode) or (callback is not None and not hasattr(callback, "rule"))
        return "library" if has_routine and not by_python else "python"
    if isinstance(kernel, (ScanRegion, WhileRegion)):
        return "loop"
    if isinstance(kernel, CondRegion):
        return "branch"
    if "error" in eqn.effects:
        return "check"
    return "product" if isinstance(kernel, Contract) else "all"
