"""A traced function on a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracejit.api.common import name_of
from tracejit.api.device.held import Held, span
from tracejit.api.jit.programs import Program
from tracejit.api.jit.signature import Call
from tracejit.errors import CompileBudgetError, DeviceMixError
from tracejit.interpreters.jit_cuda import device as jit_device
from tracejit.tracing import Box


class OnDevice(Program):
    """As `Program`. Results that are arrays are on the device; what the function leaves in objects outside of it, and
    the results beside that, are copies on the host. Arguments of the host are copied to the device, and what is
    written into them is copied back."""

    def on(self) -> Any:
        """The device."""
        return jit_device.device(self.device)

    def _run(self, consts: list[Any], leaves: Sequence[Any], call: Call) -> Any:
        given = [*consts, *leaves]
        inputs = [_array(x) for x in given]
        where = self.on()
        self._check_devices(inputs, where)
        if not self.simple:
            self._check_written(given)
            self._check_donated(inputs)
        outs = self.compiled(where)(*inputs)
        self.call_cached()
        if self.single:
            return self._number(0, outs[0])
        numbers = [self._number(n, o) for n, o in enumerate(outs)]
        if self.store is not None:
            numbers = [x.get()[()] if where.is_array(x) else x for x in numbers]
        users = [x.given if isinstance(x, Held) else x for x in leaves]
        return self._assemble(numbers, users, consts, call)

    def caller(self, consts: Sequence[Any], leaves: Sequence[Any], asks: bool) -> Any:
        if self.store is not None or any(x.aval.dtype.kind in "mM" for x in self.jaxpr.outs):
            return None
        fixed = [type(s) is not int for s in self.const_sources]
        compiled: Any = self.compiled(self.on())
        given = [x.array if isinstance(x, Held) and x.array is x.given else x for x in leaves]
        return compiled.caller_like(consts, given, fixed, self.python, asks)

    def _number(self, n: int, out: Any) -> Any:
        dtype = self.jaxpr.outs[n].aval.dtype
        if dtype.kind in "mM" and self.on().is_array(out):  # devices have no arrays of dates
            return out.get().view(dtype)[()]
        return out.item() if n in self.python else out

    def prepare(self, consts: list[Any], leaves: Sequence[Any]) -> None:
        """Nothing is compiled before it is known where it runs."""

    def _compile(self, strides: Any, key: Any) -> Any:
        """`strides` is the device: the layout is C order always."""
        where = strides if not isinstance(strides, tuple) else jit_device.device(self.device)
        try:
            return jit_device.CompiledOnDevice(self.jaxpr, where, self._aliases(), self.fastmath)
        except CompileBudgetError as e:
            if (rest := e.rest) is not None:
                e.program_rest = lambda: self.machine_code.setdefault(key, rest())
            raise

    def _check_devices(self, inputs: list[Any], where: Any) -> None:
        for n, x in enumerate(inputs):
            other = jit_device.device_of(x)
            if other is not None and other is not where:
                raise DeviceMixError(
                    function=name_of(self.function),
                    device=str(where),
                    argument=self.input_name(n),
                    other=str(other),
                )

    def read_only(self, inputs: list[Any]) -> int | None:
        """The first input that is written, but can't be."""
        fixed = (n for n in self.written if isinstance(x := inputs[n], Held) and x.fixed)
        return next(fixed, super().read_only([_array(x) for x in inputs]))

    def overlaps(self, inputs: list[Any]) -> bool:
        """Whether an array that is written shares memory with another input."""
        spans = [span(_array(x)) for x in inputs]
        return super().overlaps(inputs) or any(
            a is not None and b is not None and a[0] < b[1] and b[0] < a[1]
            for n in self.written
            for m, b in enumerate(spans)
            if m != n and (a := spans[n]) is not None
        )


def _array(x: Any) -> Any:
    """An input as it is handed to a program."""
    if isinstance(x, Held):
        return x.array
    return x.read() if type(x) is Box else x
