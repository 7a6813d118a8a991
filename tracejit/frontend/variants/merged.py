"""What names are after two branches: arrays and numbers of one type, or variants."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from tracejit.errors import VariableTypeError
from tracejit.frontend.active import in_loop
from tracejit.frontend.rewrite.blocks.cells import UNBOUND, Cell
from tracejit.frontend.rewrite.blocks.identity import Arrays, Merger
from tracejit.frontend.rewrite.blocks.state import NOTHING, Form, Leaf, promoted, zeros_like
from tracejit.frontend.rewrite.names import NAMES
from tracejit.frontend.text.choices import Add
from tracejit.frontend.variants import node
from tracejit.frontend.variants.which import seen
from tracejit.interpreters.stage import StageTrace
from tracejit.ir.avals import aval_of
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.sharing.either import listed_as
from tracejit.numpy.boxes.unsure import unsure
from tracejit.records import record
from tracejit.tracing import STATE, Storage, current_trace

#: How messages call the value of a conditional expression, or of `return`.
VALUE = "the value"


@record()
class Branch:
    """A staged branch: what it made of names and storages, its value, or the exception that it raises."""

    trace: StageTrace
    names: dict[str, Any]
    storages: dict[int, tuple[Storage, Any]]
    forms: dict[str, Form]  # of names and of the value, as they are at the branch's end
    arrays: Arrays  # which arrays these are
    value: Any = None
    raised: Exception | None = None
    places: dict[str, Cell] = field(default_factory=dict)  # in containers and objects, that it changed
    late: bool = False  # it has to be staged again
    listed: Sequence[Any] = ()  # arrays that it has put into lists, as frames have them


class Merged:
    """A name that two branches give values: the leaves of both, of one type."""

    def __init__(self, name: str, branches: tuple[Branch, Branch], choice: Any, merger: Merger) -> None:
        self.name, self.choice, self.merger = name, choice, merger
        self.types = a, b = tuple(branch.forms.get(name) for branch in branches)
        form = a or b
        assert form is not None
        if not form.same(b or form):
            raise self._refusal()
        self.form = form
        self.leaves: list[Callable[[], Any]] = []
        for x, y in zip(form.dynamic, (b or form).dynamic, strict=True):
            self._leaf(x, y, a is None, b is None)

    def _leaf(self, x: Leaf, y: Leaf, no_a: bool, no_b: bool) -> None:
        p, q = aval_of(x.raw), aval_of(y.raw)
        common = (p.dtype, x.weak and y.weak) if p.dtype == q.dtype else self._mixed(x, y)
        given = None if no_a or no_b else self._of_one_shape(x, y)
        if common is None or (given is None and (p.shape != q.shape or not p.is_static)):
            raise self._refusal()
        if x.scalar != y.scalar and not (no_a or no_b or NAMES.one_type or STATE.numbers is not None):
            raise self._refusal()  # of an array of no axes and a number, which answer alike until somebody looks
        dtype, weak = common
        same = None if no_a or no_b else self.merger.same(x, y)
        if same is not None:
            self.leaves.append(lambda: same)
            return
        python = None
        kinds = [leaf.weak if leaf.python is None else leaf.python for leaf in (x, y)]
        unknown = x.python is not None or y.python is not None
        if (unknown or x.weak != y.weak) and x.scalar and y.scalar:
            weak = False
            first, second = (np.bool_(k) if isinstance(k, bool) else k for k in kinds)
            python = self.merger.rows.add(first, second, np.dtype(bool))
            loop = in_loop()
            if loop is not None:
                loop.mixed = True
        x.listed = listed_as(x.listed, y.listed)
        a, b = zeros_like(x.raw) if no_a else x.raw, zeros_like(y.raw) if no_b else y.raw
        a, b, cut = given or (a, b, None)
        value = self.merger.rows.add(a, b, dtype)
        owners = self.merger.owners((None if no_a else x, None if no_b else y), dtype, cut is None)
        if python is not None:
            mixed = None if unknown and p.dtype == q.dtype else p.dtype != q.dtype
            self.leaves.append(lambda: unsure(value(), python(), mixed))
            return
        if not no_b and x.order != y.order:
            x.order = self._order(x, y)
        self.leaves.append(lambda: x.rebuilt(cut(value()) if cut else value(), weak, owners()))

    def _of_one_shape(self, x: Leaf, y: Leaf) -> tuple[Any, Any, Callable[[Any], Any] | None] | None:
        """The raw values of two leaves, those of other lengths in memory for the longer one, and what cuts the one that
        is chosen to its length; None if they have no shape in common, or arguments decide which it is."""
        if extents.are_one(aval_of(x.raw).shape, aval_of(y.raw).shape):
            return x.raw, y.raw, None
        if x.scalar or y.scalar or extents.decided_outside((self.choice.pred,)):
            return None
        return self.choice.lengths.of(
            (x.raw, y.raw), [b.trace for b in self.merger.branches], self.merger.rows
        )

    def _order(self, x: Leaf, y: Leaf) -> Any:
        """The order in memory of one of two arrays, if a branch has made it: those of before the branch are known as
        what the chosen one may be. Raises VariableTypeError if both are new."""
        here = current_trace().level
        new = [leaf for leaf in (x, y) if leaf.storage is None or leaf.storage.trace.level > here]
        if len(new) == 2:
            raise self._refusal()
        return new[0].order if new else x.order

    def _mixed(self, x: Leaf, y: Leaf) -> Any:
        """The (dtype, weak) of a number that is of two types: in the step of a loop the wider one, which the loop looks
        after (`Result.check_turned`), and in functions that Numba compiled, whose names have one type."""
        loop = in_loop()
        if loop is None and STATE.numbers is None and not NAMES.one_type:
            return None
        p, q = aval_of(x.raw).dtype, aval_of(y.raw).dtype
        if loop is not None and x.weak and y.weak and not NAMES.one_type and STATE.numbers is None:
            return None  # nobody would look after the type of Python's number that this is
        common = promoted(p, x.weak, q, y.weak) or promoted(q, y.weak, p, x.weak)
        if loop is not None:
            loop.mixed |= common is not None
        return common

    def _refusal(self) -> VariableTypeError:
        a, b = (NOTHING if form is None else form.describe() for form in self.types)
        name = "the returned value" if self.name.startswith("_tj_value") else f"`{self.name}`"
        return VariableTypeError(kind=self.choice.kind, name=name, a=a, b=b, where=self.choice.where)

    def rebuilt(self) -> Any:
        """The chosen value, once the program has chosen."""
        return self.form.rebuilt(leaf() for leaf in self.leaves)


class Chosen:
    """A value that two branches give different forms: the variant of which the program chooses the numbers."""

    def __init__(self, values: Sequence[Any], forms: tuple[node.Form, ...], add: Add, within: Any) -> None:
        self.forms = forms
        self.seen = max(map(seen, values), default=0)
        both = []
        for n, x in enumerate(values):
            with within(n):
                both.append(node.rows(x, forms))
        dtypes = [np.dtype(np.int64), *(slot.dtype for slot in node.all_slots(forms))]
        self.rows = [add(a, b, d) for a, b, d in zip(*both, dtypes, strict=True)]

    def rebuilt(self) -> node.Variant:
        """The variant, once the program has chosen."""
        return node.of_rows(self.forms, [row() for row in self.rows], self.seen)


def variant_of(values: tuple[Any, Any], add: Add, within: Callable[[int], Any]) -> Chosen | None:
    """A value that has different forms after two branches; None if there is no variant of these."""
    if any(x is UNBOUND for x in values) or NAMES.one_type or STATE.numbers is not None:
        return None
    forms = []
    for n, x in enumerate(values):
        with within(n):
            forms.append(node.forms_of(x))
    found = node.joined(*forms)
    return None if found is None else Chosen(values, found, add, within)


def in_code(block: Any, x: Any) -> bool:
    """Whether `x` is a constant in the code of a branch, which nobody else has."""
    left = [] if block is None else [block.__code__]
    for code in left:
        if any(c is x for c in code.co_consts):
            return True
        left += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return False
