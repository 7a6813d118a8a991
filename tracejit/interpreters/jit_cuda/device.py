"""Jaxprs on a CUDA device: compiled to a plan of launches, or where there can be none, run by the host on copies."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.config import config
from tracejit.errors import DeviceNameError, NoDeviceError
from tracejit.interpreters import messages
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.jit import Compiled, c_strides, operand
from tracejit.interpreters.jit_cuda import foreign
from tracejit.interpreters.jit_cuda.calling import ALIGNED, caller
from tracejit.ir.jaxpr import DRAWN, Jaxpr
from tracejit.ir.kernel import Unsupported
from tracejit.lowering import fuse
from tracejit.lowering.cuda.card import Card
from tracejit.lowering.cuda.emulated import DEVICES, Emulated
from tracejit.lowering.cuda.running import DeviceProgram
from tracejit.lowering.cuda.sanitized import SANITIZED
from tracejit.lowering.notes import Note, Notes
from tracejit.tracing import LOCK, use_trace


@functools.cache
def _card(number: int) -> Card:
    return Card(number)


def device(name: Any) -> Any:
    """The device of a name: "cuda", "cuda:1"; None for "cpu". A device is its own name.

    Raises DeviceNameError, NoDeviceError."""
    if isinstance(name, (Card, Emulated)) or name is None:
        return name
    kind, _, number = name.partition(":") if isinstance(name, str) else ("", "", "")
    if kind == "cpu" and number in ("", "0"):
        return None
    if kind != "cuda" or not (number or "0").isdigit():
        raise DeviceNameError(device=name)
    n = int(number or 0)
    emulated = _emulated()
    if emulated is None:
        return _card(n)
    if n >= len(emulated):
        raise NoDeviceError(device=name, problem=f"{len(emulated)} devices are emulated")
    return emulated[n]


def _emulated() -> Any:
    """The emulated devices; None if devices are cards."""
    if config.cuda == "auto":
        return None
    return SANITIZED if config.cuda == "sanitize" else DEVICES


def is_plain_array(x: Any) -> bool:
    """Whether `x` is an array of NumPy's that a device could have."""
    return type(x) is np.ndarray and x.dtype.kind in "biufc"


def all_devices() -> list[Any]:
    """The devices that there are."""
    if (emulated := _emulated()) is not None:
        return list(emulated)
    found: list[Any] = []
    try:
        while True:
            found.append(_card(len(found)))
    except NoDeviceError:
        return found


def device_of(x: Any) -> Any:
    """The device that has the array `x`, None if it is none of a device's."""
    if not foreign.is_there(x):
        return None
    if isinstance(getattr(x, "device", None), Emulated):
        return x.device
    at = Card.number_at if _emulated() is None else lambda address: 0
    return device(f"cuda:{foreign.number_of(x, at)}")


def taken(x: Any) -> Any:
    """Somebody else's array on a device as one of the device's. Raises DeviceArrayError, NoDeviceError."""
    return foreign.seen(x, device_of(x))


class CompiledOnDevice(Compiled):
    """As `Compiled`, of arrays on `on`, a device, and of the host, which are copied there. Results are arrays of the
    device. `why` says why the host runs the whole program, if it does."""

    def __init__(self, jaxpr: Jaxpr, on: Any, aliases: dict[int, int], fastmath: bool = False) -> None:
        self.device, self.why = on, ""
        self.host: Compiled | None = None
        layouts = tuple(c_strides(v.aval.shape) if v.aval.is_static else () for v in jaxpr.invars)
        super().__init__(jaxpr, layouts, aliases, fastmath)

    def _lower(self) -> None:
        with use_trace(ROOT):
            self.lowered = fuse.lower(self.jaxpr, [None] * len(self.jaxpr.invars), self._aliases, device=True)
            self.lowered.program.fastmath = self.fastmath
        self.llvm = "; for a device"

    def _load(self, make: Callable[[str], bytes]) -> None:
        with LOCK:
            try:
                if DRAWN in self.jaxpr.effects:
                    raise Unsupported("draws from a random generator, one after another")
                self.program = DeviceProgram(self.lowered, self.device)
                self.direct = self.run = self.program  # type: ignore[assignment]
            except Unsupported as e:
                self.why = str(e)
                with use_trace(ROOT):
                    layouts = tuple(c_strides(v.aval.shape) for v in self.jaxpr.invars)
                    self.host = Compiled(self.jaxpr, layouts, self._aliases, self.fastmath)
                self.lowered = self.host.lowered
            Compiled.count += 1
        self.compile_seconds = time.perf_counter() - self._start
        messages.tell_compiled(self.source_jaxpr, self.compile_seconds)

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        """The results, as arrays of the device or those that `aliases` names."""
        given = [*map(operand, self.constants), *arrays]
        if self.host is not None:
            return self._on_host(self.host, given)
        seen = [x if device_of(x) is None else foreign.seen(x, self.device) for x in given]
        placed = [self._placed(x) for x in seen]
        outs = list(self.program(*placed))
        for out, n in self._aliases.items():
            if placed[n] is not seen[n]:
                _copy_back(seen[n], placed[n])
            outs[out] = given[n]
        return tuple(outs)

    def caller_like(
        self, consts: Sequence[Any], leaves: Sequence[Any], fixed: Sequence[bool], *rest: Any
    ) -> Callable[..., Any] | None:
        """A function of inputs like these, which it checks (see `calling.caller`). `fixed` says which of `consts` are
        always the same."""
        if self.host is not None:
            return None
        given = [*map(operand, self.constants), *consts, *leaves]
        every = [*(True for _ in self.constants), *fixed, *(False for _ in leaves)]
        aliases = set(self._aliases.values())
        made = caller(self.program, self.device, given, every, aliases, *rest)
        if made is None or not self.constants:
            return made
        return lambda *xs: made(*self.constants, *xs)

    def _placed(self, x: Any) -> Any:
        """An argument as an array of the device in C order."""
        on = self.device
        if not on.is_array(x):
            host = np.ascontiguousarray(x).reshape(np.shape(x))
            return on.array(host.view(np.int64) if host.dtype.kind in "mM" else host)
        if x.flags.c_contiguous and on.address(x) % ALIGNED == 0:
            return x
        return on.array(x)

    def _on_host(self, host: Compiled, given: Sequence[Any]) -> tuple[Any, ...]:
        arrays = [x.get() if self.device.is_array(x) else operand(x) for x in given]
        arrays = [np.ascontiguousarray(operand(a)).reshape(a.shape) for a in arrays]
        outs: list[Any] = [self.device.array(np.asarray(o)) for o in host(*arrays)]
        for out, n in self._aliases.items():
            _copy_back(given[n], arrays[n])
            outs[out] = given[n]
        return tuple(outs)

    def notes(self) -> list[Note]:
        """What the lowering decided, and why. It is lowered again."""
        if self.host is not None:
            return self.host.notes()
        notes = Notes()
        with use_trace(ROOT):
            fuse.lower(self.jaxpr, [None] * len(self.jaxpr.invars), self._aliases, notes, device=True)
        return notes.found

    def as_text(self, stage: str) -> str:
        """As the method of `Compiled`; 'plan' has the steps, and 'source' the LLVM text of the kernels."""
        if stage == "plan":
            return "\n".join(self.steps())
        if stage == "source" and self.host is None:
            return self.program.text
        return super().as_text(stage) if self.host is None else self.host.as_text(stage)

    def steps(self) -> list[str]:
        """What runs where, in words."""
        return [f"the host runs all of it, on copies: {self.why}"] if self.why else self.program.describe()

    @property
    def code(self) -> Any:  # type: ignore[override]
        """The machine code that the CPU's backend makes of the program."""
        with use_trace(ROOT):
            layouts = tuple(c_strides(v.aval.shape) for v in self.jaxpr.invars)
            return Compiled(self.jaxpr, layouts, self._aliases, self.fastmath).code


def _copy_back(target: Any, source: Any) -> None:
    """Let an argument have what its copy on the device has."""
    if isinstance(target, np.ndarray):
        host = source if isinstance(source, np.ndarray) else source.get()
        target[...] = host.view(target.dtype) if target.dtype.kind in "mM" else host
    elif isinstance(source, np.ndarray):
        target.set(source)
    else:
        target[...] = source
