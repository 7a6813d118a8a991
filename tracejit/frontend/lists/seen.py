"""`View`: what stands for `d.keys()`, `d.values()` or `d.items()` of a dict that is a table (`tables`).

It shows what the dict has when it is asked, not when it was made.
"""

from __future__ import annotations

from typing import Any, NoReturn, cast

from tracejit.frontend.lists.buffers import Buffer, example
from tracejit.frontend.lists.columns import Columns
from tracejit.frontend.lists.slots import Slots
from tracejit.frontend.raw.numbers import Raw

_OPERATORS = ("and", "or", "xor", "sub", "rand", "ror", "rxor", "rsub", "ior", "iand", "isub", "ixor")
_OTHERS = (
    "len",
    "iter",
    "contains",
    "reversed",
    "repr",
    "str",
    "format",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
)
_MORE = ("ge", "add", "iadd", "reduce_ex", "copy", "deepcopy", "dir", "array")


def refuse(cls: type[Columns], *names: str) -> None:
    """Let a stand-in refuse what needs all of its items at once, and the special methods `names`."""

    def refusing(name: str) -> Any:
        def method(self: Columns, *_: Any, **__: Any) -> NoReturn:
            raise self.tj_refusal(f"`{name}`")

        return method

    for name in (*_OPERATORS, *_OTHERS, *_MORE, *names):
        setattr(cls, f"__{name}__", refusing(f"__{name}__"))


class View(Columns):
    """The stand-in of a view."""

    __slots__ = ("tj_which",)

    @classmethod
    def of_table(cls, table: Any, which: int | None, name: str) -> View:
        """What the method `name` of a table gives, which shows keys (0), values (1) or both."""
        made = cls(list, table.tj_items, table.tj_columns, table.tj_python, 0)
        made.tj_seen_of, made.tj_which = (table, name), which
        return made

    @property
    def tj_table(self) -> Any:
        """The dict."""
        assert self.tj_seen_of is not None
        return self.tj_seen_of[0]

    def tj_list(self) -> Buffer:
        """What it shows now."""
        made: Buffer = self.tj_table.tj_list(self.tj_which)
        made.tj_seen_of = self.tj_seen_of
        return made

    def tj_holder(self) -> Any:
        """What `in` asks: the dict for its keys."""
        return self.tj_table if self.tj_which == 0 else self.tj_list()

    def tj_count(self) -> Any:
        """`len`, which may be traced."""
        return self.tj_table.tj_count()

    def tj_truth(self) -> Any:
        """Whether it shows anything, which may be traced."""
        return self.tj_table.tj_truth()

    def __bool__(self) -> bool:
        return bool(self.tj_table)

    __bool__.followed = tj_truth  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> Any:
        shown = example(self)
        if hasattr(shown, name):
            raise self.tj_refusal(f"`{name}` of a view")
        raise AttributeError(f"{type(shown).__name__!r} object has no attribute {name!r}")

    __hash__ = None  # type: ignore[assignment]


refuse(View, "getitem", "setitem", "delitem")


def walked(x: Any) -> tuple[Any, int | None]:
    """The dict that a loop runs over, and what of its entries the loop sees. Raises BufferedListError: the order is a
    set's."""
    if type(x) is View:
        return x.tj_table, x.tj_which
    if x.tj_is_set:
        raise x.tj_refusal("the order of the items of a set")
    return x, 0


def as_list(x: Any, ordered: bool = True) -> Any:
    """The keys of a table as a list, or what a view of one shows, or the numbers of bytes; anything else as it is.
    `ordered`: in which order they come is seen.

    Raises BufferedListError: the order is a set's.
    """
    if type(x) is View or isinstance(x, Raw):
        return x.tj_list()
    if not isinstance(x, Slots):
        return x
    if ordered and x.tj_is_set:
        raise x.tj_refusal("the order of the items of a set")
    made = cast(Any, x).tj_list(0)
    made.tj_seen_of = x, "keys"
    return made
