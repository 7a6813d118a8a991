"""nditer over traced arrays, one element at a time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tracejit.errors import RefusedFunctionError
from tracejit.ir.seen import SeenArray
from tracejit.numpy.boxes import members
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT as NP
from tracejit.numpy.dispatch import publish
from tracejit.numpy.functions.arrays.shaping import box_of, broadcast_to, read_only
from tracejit.numpy.operands import broadcast_shapes, dtype_of, filled, has_box, raw, result_type
from tracejit.tracing import new_array

_FLAGS = {"multi_index", "c_index", "f_index", "refs_ok", "zerosize_ok"}
_OP_FLAGS = {"readonly", "readwrite", "writeonly", "allocate"}


def _refused(reason: str) -> RefusedFunctionError:
    return RefusedFunctionError(
        name="numpy.nditer", reason=reason, remedy="use numpy.ndindex, or operations of whole arrays"
    )


class nditer:
    """`np.nditer` of traced arrays: elements in the order of the indices as arrays of no dimensions, which can be
    written where the flags say so. Where nothing is traced it is NumPy's."""

    def __new__(cls, op: Any, *args: Any, **kwargs: Any) -> Any:
        if has_box((op,)):
            return super().__new__(cls)
        plain = [
            x.expose() if isinstance(x, SeenArray) else x for x in (op if type(op) in (list, tuple) else [op])
        ]
        return np.nditer(plain if type(op) in (list, tuple) else plain[0], *args, **kwargs)

    def __init__(
        self, op: Any, flags: Any = None, op_flags: Any = None, op_dtypes: Any = None, order: str = "K", **options: Any
    ) -> None:  # fmt: skip
        ops = list(op) if isinstance(op, (tuple, list)) else [op]
        if not (flags is None or isinstance(flags, (list, tuple))):
            raise ValueError("Iterator global flags must be a list or tuple of strings")
        self._flags = set(flags or ())
        if self._flags - _FLAGS or any(v is not None for v in options.values()):
            raise _refused(f"of its flags and options {sorted({*self._flags - _FLAGS, *options})}")
        marks = list(op_flags or [["writeonly", "allocate"] if o is None else ["readonly"] for o in ops])
        marks = [marks] * len(ops) if isinstance(marks[0], str) else marks
        if any(set(m) - _OP_FLAGS for m in marks):
            raise _refused(f"of its operands' flags {marks}")
        self._writes = [not {"readwrite", "writeonly"}.isdisjoint(m) for m in marks]
        given = [o for o in ops if o is not None]
        self.shape = broadcast_shapes("nditer", [box_of(o).aval.shape for o in given])
        if not all(type(d) is int for d in self.shape):
            raise _refused("of a traced extent")
        self.operands = self._arrays(ops, op_dtypes)
        self._wide = [x if x.aval.shape == self.shape else broadcast_to(x, self.shape) for x in self.operands]
        self._order = self._axes(order)
        self.ndim, self.itersize = len(self.shape), int(np.prod(self.shape, dtype=int))
        self.reset()

    def _arrays(self, ops: list[Any], dtypes: Any) -> tuple[Any, ...]:
        """The operands, those that are None made."""
        wanted = list(dtypes or [None] * len(ops))
        kind = result_type(*(o for o in ops if o is not None))
        if any(
            o is not None and d is not None and dtype_of(raw(o)) != d
            for o, d in zip(ops, wanted, strict=True)
        ):
            raise _refused("of dtypes that differ from the operands'")
        for n, (o, writes) in enumerate(zip(ops, self._writes, strict=True)):
            if writes and isinstance(o, np.ndarray):
                raise _refused(f"operand {n}, which is written, is no traced array")
        return tuple(
            new_array(filled(0, np.dtype(d or kind), self.shape)) if o is None else box_of(NP[np.asarray](o))
            for o, d in zip(ops, wanted, strict=True)
        )

    def _axes(self, order: str) -> tuple[int, ...]:
        """The axes from the slowest to the fastest."""
        plain = tuple(range(len(self.shape)))
        if order == "C":
            return plain
        if order == "F":
            return plain[::-1]
        found = {members.memory_order(x) for x in self.operands if x.aval.shape == self.shape}
        if len(found) > 1 or any(map(_runs_backwards, self.operands)):
            raise _refused("of operands that lie in memory in different orders, or backwards")
        return found.pop() if found else plain

    def reset(self) -> None:
        """Back to the first element."""
        sizes = [self.shape[a] for a in self._order]
        self._places: Iterator[Any] = itertools.product(*map(range, sizes))
        self._started, self.finished = False, False
        self.iternext()

    def iternext(self) -> bool:
        """Goes on; False at the end."""
        place = next(self._places, None)
        self.finished = place is None
        if place is not None:
            self._place = tuple(n for _, n in sorted(zip(self._order, place, strict=True)))
        return not self.finished

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        if self._started:
            self.iternext()
        self._started = True
        if self.finished:
            raise StopIteration
        return self.value

    @property
    def value(self) -> Any:
        """The elements here: one, or a tuple where there are several operands."""
        return self[0] if len(self.operands) == 1 else tuple(self[n] for n in range(len(self.operands)))

    def __getitem__(self, n: int) -> Any:
        x = self.operands[n]
        if self._writes[n]:
            return x[(*self._place, Ellipsis)]
        return read_only(self._wide[n][(*self._place, Ellipsis)], lambda value: value, (), members.frozen)

    def __setitem__(self, n: int, value: Any) -> None:
        self[n][...] = value

    @property
    def multi_index(self) -> tuple[int, ...]:
        """The indices of the element here."""
        if "multi_index" not in self._flags:
            raise ValueError("Iterator is not tracking a multi-index")
        return self._place

    @property
    def index(self) -> int:
        """The flat index of the element here, in the order that a flag has named."""
        if self._flags.isdisjoint({"c_index", "f_index"}):
            raise ValueError("Iterator does not have an index")
        if not self.shape:
            return 0
        return int(
            np.ravel_multi_index(self._place, self.shape, order="C" if "c_index" in self._flags else "F")
        )

    def __len__(self) -> int:
        return self.itersize

    @property
    def nop(self) -> int:
        """How many operands there are."""
        return len(self.operands)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def close(self) -> None:
        """Nothing is held back that would have to be written."""

    def __getattr__(self, name: str) -> Any:
        raise _refused(f"of its member {name!r}")


def _runs_backwards(x: Any) -> bool:
    layout = x.storage.layout or ()
    steps = [s for view in x.chain for s in getattr(view, "steps", ())]
    return any(s < 0 for s in (*layout, *steps))


publish(np.nditer, nditer, "nditer")
