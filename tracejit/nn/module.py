"""`Module`: a layer or a network that is the tree of its parameters.

A module is a dataclass whose fields are arrays, other modules, or lists, tuples and dicts of these; a field made by
`static()` belongs to the structure. So a module goes through `jit`, `grad` and `vmap` like any tree, its gradient is a
module that holds gradients, and an optimiser needs to know nothing of it. This is the form of Equinox (Kidger and
Garcia 2021).

    class Autoencoder(nn.Module):
        encode: nn.Linear
        decode: nn.Linear

        def __init__(self, n, m, *, key):
            first, second = tj.random.split(key)
            self.encode = nn.Linear(n, m, key=first)
            self.decode = nn.Linear(m, n, key=second)

        def __call__(self, x):
            return self.decode(nn.relu(self.encode(x)))
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
from typing import Any

from tracejit import tree


def static(default: Any = dataclasses.MISSING) -> Any:
    """A field that is no array, and decides what is compiled: a size, a name, a function. It must be hashable."""
    return dataclasses.field(default=default, metadata={"static": True})


def statistic() -> Any:
    """A field of arrays that training does not change by gradients, such as running means (see `trainable`)."""
    return dataclasses.field(metadata={"trainable": False})


class Module:
    """The base of modules; subclasses become dataclasses and trees by themselves."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # An inherited __init__ stays where a subclass has no fields of its own.
        made = "__init__" not in vars(cls) and bool(inspect.get_annotations(cls))
        dataclasses.dataclass(eq=False, init=made)(cls)
        tree.register_dataclass(cls)

    def __call__(self, x: Any) -> Any:
        """The output for the input `x`, as it is when training is done."""
        raise NotImplementedError(f"{type(self).__name__} does not define __call__")

    def train(self, x: Any, *, key: Any = None) -> tuple[Any, Any]:
        """The output while training, and the module for the next step: dropout needs the `key` of a random number
        generator, and statistics of batches are in the new module. Both are given for modules without these, too."""
        return self(x), self

    def replace(self, **fields: Any) -> Any:
        """A module with other values in some fields."""
        new = copy.copy(self)
        for name, value in fields.items():
            object.__setattr__(new, name, value)
        return new


def trainable(x: Any) -> Any:
    """A tree of bools like the module, or tree of modules, `x`: whether each leaf is trained by gradients. It is a mask
    for `optim.masked`, or for the weight decay of an optimiser."""
    if isinstance(x, Module):
        marked = {}
        for field in dataclasses.fields(x):  # type: ignore[arg-type]
            value = getattr(x, field.name)
            if field.metadata.get("static"):
                continue
            kept = field.metadata.get("trainable", True)
            marked[field.name] = trainable(value) if kept else tree.map(lambda _: False, value)
        return x.replace(**marked)
    if isinstance(x, dict):
        return {k: trainable(v) for k, v in x.items()}
    if type(x) in (list, tuple):
        return type(x)(trainable(v) for v in x)
    return tree.map(lambda _: True, x)
