"""`Text`: text that is made of traced values, as traced code holds it.

It can be joined, repeated, formatted and changed by the methods of strings that give strings. It is a node of pytrees
whose leaves are its values, so that loops, branches and results take it as they take a tuple; where the values are
real, the node is the real text. Whatever else looks at it is refused: nobody ever sees a wrong text.
"""

from __future__ import annotations

import operator
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit import ops, tree
from tracejit.control.callbacks.ops import pure_callback
from tracejit.errors import TracedTextError, refusals
from tracejit.frontend import active
from tracejit.frontend.text.recipes import (
    PYTHON,
    Known,
    Made,
    Recipe,
    example,
    joined,
    listed,
    picked,
)
from tracejit.ir.avals import Aval
from tracejit.ir.elsewhere import is_elsewhere, to_host
from tracejit.ir.values import Value
from tracejit.numpy.assumed import assumed
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.tracing import Box, box, to_raw

#: Of which Python says that they are not added to text.
_NO_TEXTS = frozenset({bool, int, float, complex, type(None), bytes, list, tuple, dict, set})


class Text:
    """Text of the traced `values`, which `recipe` takes."""

    __slots__ = ("__weakref__", "recipe", "values")

    def __init__(self, recipe: Recipe, values: Sequence[Any]) -> None:
        self.recipe = recipe
        self.values = tuple(values)
        session = active.session()
        if session is not None:
            session.has_texts = True

    @property
    def __class__(self) -> type:
        return str

    def __add__(self, other: Any) -> Any:
        if type(other) in _NO_TEXTS:
            return "" + other  # raises
        return concatenated((self, other)) if is_text(other) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        if type(other) in _NO_TEXTS:
            return other + ""  # raises
        return concatenated((other, self)) if is_text(other) else NotImplemented

    def __mul__(self, times: Any) -> Any:
        return made(operator.mul, self, times) if type(times) is int else NotImplemented

    __rmul__ = __mul__

    def __copy__(self) -> Text:
        return self

    def __deepcopy__(self, memo: Any) -> Text:
        return self


def refusal(text: Text, use: str) -> TracedTextError:
    """The error for a use of `text` that needs its characters."""
    avals = sorted({str(x.aval) for x in text.values if type(x) is Box})
    return TracedTextError(aval=" and ".join(avals) or "value", use=use)


def is_text(x: Any) -> bool:
    """Whether `x` is a string, real or not."""
    return type(x) is Text or isinstance(x, str)


# ---------------------------------------------------------------- numbers of texts


class _Asked(NamedTuple):
    """Gives a number that depends on a text, from the arrays that the text is made of."""

    fn: Callable[..., Any]
    recipe: Recipe
    by_value = True

    @property
    def __name__(self) -> str:
        return f"text.{self.fn.__name__}"

    def __call__(self, *arrays: Any) -> Any:
        return self.fn(*self.recipe(iter(arrays)))


def asked(fn: Callable[..., Any], dtype: Any, *args: Any) -> Any:
    """The Python number `fn(*args)` of texts and constants, by a pure function that never raises for them."""
    texts = [x for x in args if type(x) is Text]
    options = options_of(texts[0]) if len(texts) == 1 else None
    if options is not None:
        results = [np.dtype(dtype).type(fn(*(o if type(x) is Text else x for x in args))) for o in options]
        return box(at_index(to_raw(texts[0].values[0]), results), weak=True)
    parts = [recipe_of(x) for x in args]
    values = [v for _, found in parts for v in found]
    recipe = Made(listed, tuple([r for r, _ in parts]))
    fn(*example(recipe))
    spec = Aval((), np.dtype(dtype))
    return box(pure_callback(_Asked(fn, recipe), spec, *values, vmap_method="sequential").read(), weak=True)


def options_of(x: Any) -> tuple[str, ...] | None:
    """The known strings of which `x` is one; None for other things."""
    if type(x) is str:
        return (x,)
    if type(x) is Text and isinstance(x.recipe, Made) and x.recipe.fn is picked:
        known = x.recipe.parts[1]
        return known.value if isinstance(known, Known) else None
    return None


def at_index(index: Any, results: Sequence[Any]) -> Any:
    """The one of the raw constants `results` at the raw `index`."""
    out = results[0]
    for n, result in enumerate(results[1:], 1):
        out = ops.compare.select(ops.compare.eq(index, np.int64(n)), result, out)
    return out


def length(x: Any) -> Any:
    """How many characters a text has."""
    return asked(len, np.int64, x) if type(x) is Text else len(x)


def contains(item: Any, x: Text) -> Any:
    """Whether `item` is in the text."""
    return asked(operator.contains, bool, x, item)


# ---------------------------------------------------------------- texts that are taken for known

#: Texts that have a number. Where there are more, Python runs the function: the number of another one is -1.
MOST_TEXTS = 4096
_numbers: dict[str, int] = {}
_texts: list[str] = []
_lock = threading.Lock()


def number_of(text: str) -> int:
    """The number of a text in this process."""
    with _lock:
        number = _numbers.get(text)
        if number is None and len(_texts) < MOST_TEXTS:
            number = _numbers[text] = len(_texts)
            _texts.append(text)
    return -1 if number is None else number


def known(text: Any, use: str) -> Any:
    """The string that the program takes a text to be (`numpy.assumed`), for a `use` that needs its characters. One of
    integers and truth values is known by these, any other by its number. Raises TracedTextError where it can't be."""
    if type(text) is not Text:
        return text
    if all(map(_is_whole, text.values)):
        return text.recipe(iter([_taken(x, text, use) for x in text.values]))
    number = int(_taken(asked(number_of, np.int64, text), text, use))
    if number < 0:
        raise refusal(text, use)
    return _texts[number]


def _is_whole(x: Any) -> bool:
    """Whether it is one of the numbers that a program may take for known."""
    return type(x) is not Box or (x.aval.is_static and x.aval.size == 1 and x.aval.dtype.kind in "biu")


def _taken(x: Any, text: Text, use: str) -> Any:
    if type(x) is not Box:
        return x
    value = extents.known(x.read())
    value = assumed(x.read(), lambda: refusal(text, use)) if value is None else value
    if value is None:
        error = refusal(text, use)
        error.traced = (x.read(),)
        raise error
    return value


# ---------------------------------------------------------------- making texts


def recipe_of(x: Any) -> tuple[Recipe, tuple[Any, ...]]:
    """How a string, bytes or a constant is made."""
    if hasattr(type(x), "tj_recipe"):
        return x.tj_recipe()
    return (x.recipe, x.values) if type(x) is Text else (Known(x), ())


def made(fn: Callable[..., Any], *args: Any) -> Any:
    """`fn(*args)`, a pure function of texts and constants that gives text."""
    if not any(type(x) is Text for x in args):
        return fn(*args)
    parts = [recipe_of(x) for x in args]
    return text_of(Made(fn, tuple([r for r, _ in parts])), [v for _, values in parts for v in values])


def text_of(recipe: Recipe, values: Sequence[Any]) -> Any:
    """The text that `recipe` makes; raises what Python raises for it, whatever the values are."""
    if not values:
        return recipe(iter(()))
    session = active.session()
    own = session is not None and session.print_options not in (None, np.get_printoptions())
    if own or (session is not None and session.sets_text):
        recipe = _by_options(recipe, values)
    example(recipe)
    try:
        example(recipe, nasty=True)
    except Exception:
        return _of_most(recipe, values)
    return Text(recipe, values)


class _ByOptions(NamedTuple):
    """A function that makes text, by the print options of NumPy that the traced function has set then."""

    fn: Callable[..., Any]
    options: tuple[tuple[str, Any], ...]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with np.printoptions(**dict(self.options)):
            return self.fn(*args, **kwargs)


def _by_options(recipe: Recipe, values: Sequence[Any]) -> Recipe:
    options = np.get_printoptions()
    if not isinstance(recipe, Made) or options.get("formatter") is not None:
        raise refusal(Text(recipe, values), "the text by print options of the function's own")
    return Made(_ByOptions(recipe.fn, tuple(options.items())), recipe.parts, recipe.names)


def _of_most(recipe: Recipe, values: Sequence[Any]) -> Any:
    """The text where only Python has that of values that are not finite (`"%d" % nan` raises): the program leaves these
    to Python. Where it depends on other values too (`chr(n)`), it has to be known."""
    slots, text, use = list(recipe.slots()), Text(recipe, values), "a format that some values do not have"
    if any(slot.kind != PYTHON and slot.ndim for slot in slots):
        raise refusal(text, use)
    finite = [slot.example(slot.dtype.kind != "f") for slot in slots]
    try:
        recipe(iter(finite))
    except Exception:
        if all(map(_is_whole, values)):
            return known(text, use)
        raise refusal(text, use) from None
    for slot, x in zip(slots, values, strict=True):
        if slot.dtype.kind == "f":
            leave_if(ops.compare.not_(ops.compare.isfinite(to_raw(x))), "text of a number that is not finite")
    return text


def concatenated(parts: Iterable[Any]) -> Any:
    """Strings, one after the other."""
    flat: list[Recipe] = []
    values: list[Any] = []
    for x in parts:
        recipe, more = recipe_of(x)
        inner = recipe.parts if isinstance(recipe, Made) and recipe.fn is joined else (recipe,)
        for part in inner:
            if flat and isinstance(part, Known) and isinstance(flat[-1], Known):
                flat[-1] = Known(flat[-1].value + part.value)
            else:
                flat.append(part)
        values += more
    if not values:
        return "".join(part.value for part in flat if isinstance(part, Known))
    return Text(Made(joined, tuple(flat)), values)


def join(separator: Any, items: Any) -> Any:
    """`separator.join(items)`."""
    items = list(items)
    if not any(type(x) is Text for x in (separator, *items)):
        return separator.join(items)
    if not all(map(is_text, items)):
        return "".join(["" if type(x) is Text else x for x in items])  # raises what Python raises
    parts: list[Any] = []
    for n, x in enumerate(items):
        parts += [separator, x] if n else [x]
    return concatenated(parts)


# ---------------------------------------------------------------- as a node of trees

_REAL = (np.ndarray, np.generic, bool, int, float, complex)


def _rebuilt(recipe: Recipe, leaves: Iterable[Any]) -> Any:
    """The text of other values, real where they are, copied from a device. Raises TracedTextError for arrays of other
    dimensions, as those of all lanes of a vmap."""
    values = tuple(to_host(x) if is_elsewhere(x) else x for x in leaves)
    text = Text(recipe, values)
    if not all(isinstance(x, (*_REAL, Box, Value)) for x in values):
        return text  # a tree of something else
    if not all(slot.fits(x) for slot, x in zip(recipe.slots(), values, strict=True)):
        raise refusal(text, "one for each of several values")
    if any(isinstance(x, (Box, Value)) for x in values):
        return text
    return recipe(iter(values))


tree.register(Text, lambda x: (x.values, x.recipe), _rebuilt)


def described(x: Any, known: Callable[[Any], Any] | None = None) -> Any:
    """The string of a text, for people who see it while it is traced: with what stands for its values, but for those
    that `known` gives (it gives None for others). Anything else as it is."""
    if type(x) is not Text:
        return x
    parts = x.recipe.parts if isinstance(x.recipe, Made) and x.recipe.fn is joined else (x.recipe,)
    given, out = iter(x.values), []
    for part in parts:
        values = [next(given) for _ in part.slots()]
        found = [known(v) if known is not None else None for v in values]
        missing = [v for v, f in zip(values, found, strict=True) if f is None]
        out.append("".join(f"Traced<{v.aval}>" for v in missing) if missing else part(iter(found)))
    return "".join(out)


#: What C code says where it takes nothing but a string, and gets what stands for one.
_OURS = re.compile(r"\b(Text|Variant)\b")


def plain_exception(
    error: BaseException, values: bool = False, own: Callable[[Any], Any] | None = None
) -> None:
    """Let the texts among the arguments of an exception that leaves the traced function be strings, and with `values`
    traced ones too, which nobody may hold when the trace has ended. `own` gives the user's object of a stand-in."""
    if own is not None and any(own(a) is not a for a in error.args):
        error.args = tuple(map(own, error.args))
    if own is not None:
        own(error)  # its attributes, too
    for a in error.args:
        if hasattr(type(a), "tj_raised"):
            a.tj_raised()
    if values and type(error) is TypeError and _OURS.search(str(error)) is not None:
        raise TracedTextError(aval="value", use=f"an argument of a function that says: {error}") from error
    if any(type(a) is Text or (values and type(a) is Box) for a in error.args):
        error.args = tuple(
            f"Traced<{a.aval}>" if values and type(a) is Box else described(a) for a in error.args
        )
        refusals.hide(error)


def has_text(x: Box) -> bool:
    """Whether the text of a traced value can be made: of booleans, numbers, dates and times."""
    return x.aval.dtype.kind in "biufcmM"
