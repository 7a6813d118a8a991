"""`Variant`: a value of one of several forms, as traced code holds it.

    best = None
    for k in range(n):
        if x[k] > top:
            best = k, x[k]         # None, or a pair of an int and a float

It has the number of the form, and the numbers that each of the forms is made of. It is a node of pytrees whose leaves
are these, so that loops, branches and results take it as they take a tuple; where they are real, the node is the real
value. What else is done with it is done with each of the forms, in branches (`uses.py`).
"""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tracejit import ops, tree
from tracejit.errors import UnfollowedError
from tracejit.frontend import active
from tracejit.frontend.origins import StandsFor
from tracejit.frontend.text.deferred import Text, at_index
from tracejit.ir.avals import aval_of
from tracejit.numpy.boxes.unsure import is_alike, is_unsure, may_have_begun, taken, unsure
from tracejit.records import record
from tracejit.tracing import Box, box, to_raw

#: Stands for the number of a tuple that has none.
UNKNOWN = "a tuple that each step may make anew, or not"
#: A value has no more forms than these.
MOST = 6
_NUMBERS = (bool, int, float, complex)
_CONSTANTS = (type(None), str, bytes)
#: Classes whose objects have forms: what `type(x)` may be.
_CLASSES = frozenset(
    {*_NUMBERS, type(None), str, bytes, tuple, np.float64, np.int64, np.bool_, np.complex128}
)
_REAL = (np.ndarray, np.generic, *_NUMBERS)


@record(frozen=True)  # no tuple, which would be equal to another class's
class Constant:
    """A known value that is no number, with its class."""

    kind: type
    value: Any


@record(frozen=True)
class Number:
    """A number: of Python's, or one of NumPy's."""

    dtype: np.dtype
    weak: bool


@record(frozen=True)
class Unsure:
    """A number that is NumPy's or Python's: it, and whether it is Python's (`numpy.boxes.unsure`)."""

    of: tuple[Number, Number]


@record(frozen=True)
class Written:
    """Text of traced values, which the recipe takes."""

    recipe: Any
    of: tuple[Number, ...]


@record(frozen=True)
class Parts:
    """A tuple of these. `numbered`: after their numbers there is one that says which tuple it is (`lists.numbered`)."""

    of: tuple[Any, ...]
    numbered: bool = False


#: One of the forms of a value.
Form = Constant | Number | Unsure | Written | Parts


class Variant(StandsFor):
    """A value of the form of `forms` that `index` says, made of its part of `numbers`. `seen`: it may be a tuple that
    is somewhere else, too (`HERE`), or one of outside (`OUTSIDE`)."""

    __slots__ = ("__weakref__", "_tj_forms", "_tj_index", "_tj_numbers", "_tj_seen")

    def __init__(self, forms: tuple[Form, ...], index: Any, numbers: Sequence[Any], seen: int = 0) -> None:
        self._tj_forms, self._tj_seen = forms, seen
        self._tj_index = index
        self._tj_numbers = tuple(numbers)
        session = active.session()
        if session is not None:
            session.has_texts = session.has_variants = True  # what Python says of it may be caught

    @property
    def tj_kind(self) -> type:
        raise refusal("its class")

    def __copy__(self) -> Variant:
        return self

    def __deepcopy__(self, memo: Any) -> Variant:
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        if name[:4] != "_tj_":
            raise refusal("an attribute of it")
        object.__setattr__(self, name, value)

    def __hash__(self) -> int:
        raise refusal("a key or an item of a set")

    def tj_written(self) -> None:
        """It is to be written into an array."""
        raise refusal("as what is written into an array")

    def tj_raised(self) -> None:
        """An exception that leaves the function has it."""
        raise refusal("in an exception")

    def tj_example(self) -> Any:
        """The value, for those who ask for its class."""
        raise refusal("its class")


class _Use:
    """How something is done with each form; `uses.py` says it."""

    each: Callable[..., Any]
    #: `either(test, a, b)`: `a if test else b`, of a traced truth value.
    either: Callable[[Any, Any, Any], Any]


use = _Use()


def refusal(what: str) -> UnfollowedError:
    """The error for a use of a variant that there is not."""
    reason = "which of several types it has depends on conditions"
    return UnfollowedError(what=f"a value ({what})", reason=reason)


def form_of(x: Any) -> tuple[Form, list[Any]] | None:
    """The form of a value that is no variant, and its numbers; None for other things than numbers, constants, and
    tuples of such."""
    numbers: list[Any] = []
    form = _form(x, numbers)
    return None if form is None else (form, numbers)


def _form(x: Any, numbers: list[Any]) -> Form | None:
    cls = type(x)
    if cls is tuple:
        parts = tuple(_form(v, numbers) for v in x)
        # one that is a tuple itself would be taken out of it as another one
        if any(p is None or isinstance(p, Parts) for p in parts):
            return None
        which = _which(x)
        numbers += which
        return None if UNKNOWN in which else Parts(parts, bool(which))
    if cls is Text:
        given = [_form(v, numbers) for v in x.values]
        found = [n for n in given if isinstance(n, Number)]
        return Written(x.recipe, tuple(found)) if len(found) == len(given) else None
    if cls in _CONSTANTS or (cls is type and x in _CLASSES) or isinstance(cls, enum.EnumMeta):
        return Constant(cls, x)
    if is_alike(x) and not x.aval.shape and x.aval.dtype.kind in "biufc":
        numbers += [taken(x).read(), x.python]
        return Unsure((Number(x.aval.dtype, False), Number(np.dtype(bool), True)))
    if cls is Box:
        if x.aval.shape or is_unsure(x) or not (x.scalar or x.weak is True) or may_have_begun(x):
            return None
        weak = bool(x.weak)
    elif cls in _NUMBERS or isinstance(x, np.generic):
        weak = cls in _NUMBERS
    else:
        return None
    try:
        raw = to_raw(x)
    except (TypeError, OverflowError):  # no number, or one of more than 64 bits
        return None
    dtype = aval_of(raw).dtype
    if dtype.kind not in "biufc":
        return None
    numbers.append(raw)
    return Number(dtype, weak)


def _which(x: tuple[Any, ...]) -> list[Any]:
    """The raw number that says which tuple `x` is, where tuples have such; UNKNOWN if it has none."""
    session = active.session()
    return [] if session is None else session.choices.tuples.numbers(x)[:1]


def forms_of(x: Any) -> tuple[Form, ...] | None:
    """The forms that a value may have; None if it can't be a variant."""
    session = active.session()
    if session is None or session.no_variants:
        return None
    x = _spread(x)
    if type(x) is Variant:
        return x._tj_forms
    found = form_of(x)
    return None if found is None else (found[0],)


def _spread(x: Any) -> Any:
    """A tuple that has variants as the variant of tuples that it is; other things as they are, and also those of which
    there would be too many forms."""
    if type(x) is not tuple or not any(type(v) is Variant for v in x):
        return x
    parts = []
    for v in x:
        forms = forms_of(v)
        if forms is None or any(isinstance(f, Parts) for f in forms):
            return x
        parts.append((forms, rows(v, forms)))
    if math.prod(len(forms) for forms, _ in parts) > MOST:
        return x
    which = _which(x)
    if UNKNOWN in which:
        return x
    index: Any = np.int64(0)
    held: list[dict[Form, list[Any]]] = []
    for forms, (own, *numbers) in parts:
        index = ops.arithmetic.add(ops.arithmetic.mul(index, np.int64(len(forms))), own)
        given = iter(numbers)
        held.append({f: [next(given) for _ in slots(f)] for f in forms})
    chosen = [*itertools.product(*held)]
    raws = [
        r for each in chosen for r in (*(r for of, f in zip(held, each, strict=True) for r in of[f]), *which)
    ]
    return of_rows(tuple([Parts(each, bool(which)) for each in chosen]), [index, *raws], False)


def joined(a: tuple[Form, ...] | None, b: tuple[Form, ...] | None) -> tuple[Form, ...] | None:
    """The forms of both; None if there are too many, or of something else."""
    if a is None or b is None:
        return None
    found = tuple(dict.fromkeys((*a, *b)))
    return found if len(found) <= MOST else None


def slots(form: Form) -> Iterator[Number]:
    """The numbers of a form."""
    if isinstance(form, Number):
        yield form
    elif not isinstance(form, Constant):
        for part in form.of:
            yield from slots(part)
        if isinstance(form, Parts) and form.numbered:
            yield Number(np.dtype(np.int64), True)


def all_slots(forms: Iterable[Form]) -> list[Number]:
    """The numbers of all forms, in their order."""
    return [n for form in forms for n in slots(form)]


def rows(x: Any, forms: tuple[Form, ...]) -> list[Any]:
    """The raw number of the form of `x` among `forms`, and the raw numbers of all of these; zeros for what it does not
    have."""
    x = _spread(x)
    if type(x) is Variant:
        index, mine = x._tj_index.read() if type(x._tj_index) is Box else x._tj_index, x._tj_forms
        given = iter([v.read() if type(v) is Box else to_raw(v) for v in x._tj_numbers])
        index = _renumbered(index, [forms.index(f) for f in mine])
        held = {f: [next(given) for _ in slots(f)] for f in mine}
    else:
        found = form_of(x)
        assert found is not None
        index, held = np.int64(forms.index(found[0])), {found[0]: found[1]}
    return [index, *(r for f in forms for r in held.get(f) or [n.dtype.type(0) for n in slots(f)])]


def _renumbered(index: Any, places: list[int]) -> Any:
    """The raw number `places[index]`."""
    from_here = list(range(len(places)))
    if places == from_here:
        return index
    return at_index(index, [np.int64(p) for p in places])


def of_rows(forms: tuple[Form, ...], raws: Sequence[Any], seen: int) -> Variant:
    """The variant of these raw numbers."""
    index, *numbers = raws
    boxes = [box(r, weak=n.weak) for n, r in zip(all_slots(forms), numbers, strict=True)]
    return Variant(forms, box(index, weak=True), boxes, seen)


def option(x: Variant, n: int, once: Any = None) -> Any:
    """The value if it has the form number `n`; `once`: the tuples of a call (`lists.numbered`)."""
    before = len(all_slots(x._tj_forms[:n]))
    return _built(x._tj_forms[n], iter(x._tj_numbers[before:]), once)


def _built(form: Form, numbers: Iterator[Any], once: Any = None) -> Any:
    if isinstance(form, Parts):
        return _tuple(form, numbers, once)
    if isinstance(form, Unsure):
        value, python = next(numbers), next(numbers)
        return (
            unsure(value.read(), python.read()) if type(value) is Box else value.item() if python else value
        )
    if isinstance(form, Written):
        values = [next(numbers) for _ in form.of]
        return Text(form.recipe, values) if any(type(v) is Box for v in values) else form.recipe(iter(values))
    return form.value if isinstance(form, Constant) else next(numbers)


def _tuple(form: Parts, numbers: Iterator[Any], once: Any) -> Any:
    """The tuple of a form; `once`: those of a call, of which it is one (`lists.numbered`)."""
    made = tuple([_built(part, numbers) for part in form.of])
    if not form.numbered:
        return made
    which = next(numbers)
    if once is not None:
        return once.of(which, made)
    if type(which) is Box:
        active.session().choices.tuples.note(made, which.read())
    return made


def sure(x: Any) -> Any:
    """A number that is NumPy's or Python's as a variant, which a result may have; other things as they are."""
    found = form_of(x) if is_unsure(x) else None
    return x if found is None else of_rows((found[0],), [np.int64(0), *found[1]], False)


def numbers_of(x: Variant) -> tuple[Any, ...]:
    """What `of_numbers` makes the value of."""
    return (x._tj_index, *x._tj_numbers)


def of_numbers(forms: tuple[Form, ...], numbers: Sequence[Any], once: Any = None) -> Any:
    """The value of these real numbers; `once`: the tuples of this call (`lists.numbered`)."""
    return option(Variant(forms, numbers[0], numbers[1:]), int(numbers[0]), once)


def _rebuilt(aux: tuple[tuple[Form, ...], int], leaves: Iterable[Any]) -> Any:
    """The variant of other numbers, the real value where they are real."""
    forms, seen = aux
    index, *numbers = leaves
    values = (index, *numbers)
    if any(x.aval.shape if type(x) is Box else isinstance(x, _REAL) and np.ndim(x) for x in values):
        raise refusal("one for each of several lanes")
    made = Variant(forms, index, numbers, seen)
    if not all(isinstance(x, _REAL) for x in values):
        return made  # traced, or a tree of something else
    return option(made, int(index))


tree.register(Variant, lambda x: (numbers_of(x), (x._tj_forms, x._tj_seen)), _rebuilt)
