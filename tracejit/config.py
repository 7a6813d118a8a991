"""Settings, read once from the environment and changeable at run time.

    tj.config.update("debug_nans", True)
    with tj.config.override(log_compiles=True):
        ...

Settings are the process's: a change is seen by all threads at once, `override` too. Where two threads
override the same setting, the one that ends last restores what it found; set it before the threads start.

    setting               environment                 what it does
    debug                 TRACEJIT_DEBUG              0 to 4: cache events, jaxpr, each pass, source, to stderr
    disable_jit           TRACEJIT_DISABLE_JIT        run everything op by op through NumPy
    check_types           TRACEJIT_CHECK_TYPES        typecheck the IR after every trace and pass
    cache_size            TRACEJIT_CACHE_SIZE         compiled functions kept in memory, over all functions
    cache                 TRACEJIT_CACHE              machine code on disk: on, off, ro (read only), a folder, ro:FOLDER
    cache_mb              TRACEJIT_CACHE_MB           megabytes of it that are kept, the last used ones
    num_threads           TRACEJIT_NUM_THREADS        threads that a large loop is shared among; the processors
                                                      that the process may use, unless set
    debug_nans            TRACEJIT_DEBUG_NANS         raise at the operation that gives a NaN
    debug_infs            TRACEJIT_DEBUG_INFS         raise at the operation that gives an infinity
    log_compiles          TRACEJIT_LOG_COMPILES       log each compilation, and why functions are traced again
    check_tracer_leaks    TRACEJIT_CHECK_TRACER_LEAKS raise where a traced value outlives its trace
    fallback              TRACEJIT_FALLBACK           let Python run what jit can't compile, with a warning; else raise
    compile_budget        TRACEJIT_COMPILE_BUDGET     processor seconds before Python runs a call instead; 0: any
    optimize              TRACEJIT_OPTIMIZE           let LLVM optimise; without it a program is compiled in less than
                                                      half of the time and runs several times slower; sums are added
                                                      in another order
    full_tracebacks       TRACEJIT_FULL_TRACEBACKS    show the frames inside of tracejit in tracebacks too
    regions               TRACEJIT_REGIONS            compile parts of functions that Python runs (an experiment)
    perf                  TRACEJIT_PERF               tell Linux's perf which machine code is which nest of loops
    cuda                  TRACEJIT_CUDA               what device="cuda" is: auto, a card; emulate; or sanitize
    unroll                TRACEJIT_UNROLL             loops of a known number of steps up to this are unrolled by jit
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from dataclasses import field, fields
from typing import Any

from tracejit.errors import SettingValueError, UnknownSettingError
from tracejit.records import record

_MAX_THREADS = 1024


def _flag(name: str, default: str = "0") -> bool:
    return os.environ.get(name, default).lower() not in ("", "0", "false", "off")


def _folder(value: Any) -> str:
    """A value of `cache`: one of the words, or a folder's whole path."""
    text = os.fspath(value)
    words = {"": "on", "1": "on", "true": "on", "0": "off", "false": "off"}
    word = words.get(text.lower(), text.lower())
    if word in ("on", "off", "ro"):
        return word
    mode, path = ("ro:", text[3:]) if text.startswith("ro:") else ("", text)
    return mode + os.path.abspath(os.path.expanduser(path))


def _number(name: str, default: int, low: int = 0) -> int:
    text = os.environ.get(name, "")
    return max(int(text), low) if text.lstrip("-").isdigit() else default


def _seconds(name: str, default: float) -> float:
    try:
        return max(float(os.environ[name]), 0.0)
    except (KeyError, ValueError):
        return default


def _processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@record()
class Config:
    """The settings of this process: `tracejit.config` is the one object of this class.

    Assigning an attribute checks its name and value, and is seen by all threads at once.

    Parameters
    ----------
    debug : int
        0 to 4: what is written to stderr: cache events, programs, each pass, generated code.
    disable_jit, check_types : bool
        Whether everything runs operation by operation, and whether programs are typechecked after every pass.
    cache_size, cache_mb : int
        How many compiled functions are kept in memory, and how many megabytes of them on disk.
    cache : str
        "on", "off", "ro", a folder, or "ro:" and a folder: where machine code is kept for the next process.
    num_threads : int
        How many threads share a large loop.
    debug_nans, debug_infs, check_tracer_leaks : bool
        Whether the operation that gives a NaN or an infinity raises, or a traced value that outlives its trace.
    full_tracebacks : bool
        Whether tracebacks show the frames of this package, too.
    log_compiles : bool
        Whether each compilation is logged, and why a function is traced again.
    fallback, regions : bool
        Whether Python runs what cannot be compiled, and whether parts of such functions are compiled.
    compile_budget : float
        How many seconds a call waits for its program before Python runs it; 0: any number.
    optimize : bool
        Whether LLVM optimises programs.
    perf : bool
        Whether programs compiled from now on are described in /tmp/perf-PID.map, for Linux's `perf report`.
    cuda : str
        What `device="cuda"` is: "auto", a card; "emulate", the emulated device, which runs everywhere; or
        "sanitize", the same that looks at each access of memory for what a card would do wrong, for tests of tracejit.
    unroll : int
        Loops of a known number of steps up to this are unrolled, but for those that hold more than two loops in each
        other.

    Raises
    ------
    UnknownSettingError
        There is no setting of that name. An AttributeError, too.
    SettingValueError
        The value has the wrong type or is out of range. A ValueError and a TypeError, too.

    Examples
    --------
    >>> import tracejit as tj
    >>> with tj.config.override(debug=0, fallback=False):
    ...     tj.config.fallback
    False
    """

    debug: int = 0
    disable_jit: bool = False
    check_types: bool = False
    cache_size: int = 4096
    cache: str = "on"
    cache_mb: int = 512
    num_threads: int = field(default_factory=_processors)
    debug_nans: bool = False
    debug_infs: bool = False
    log_compiles: bool = False
    check_tracer_leaks: bool = False
    fallback: bool = True
    compile_budget: float = 10.0
    optimize: bool = True
    full_tracebacks: bool = False
    regions: bool = False
    perf: bool = False
    unroll: int = 4
    cuda: str = "auto"

    # What is asked at every call and every eager operation, kept by __setattr__: whether NaNs or infinities
    # are looked for, and whether calls may go straight to machine code.
    checks: bool = field(init=False, default=False)
    fast: bool = field(init=False, default=True)
    around: int = field(init=False, default=0)  # blocks in which calls have to look where they run
    _watchers: dict[str, list[Callable[[Any], None]]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__setattr__("_watchers", {})

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, _checked(name, value))
        checks = self.debug_nans or self.debug_infs
        super().__setattr__("checks", checks)
        super().__setattr__("fast", not (checks or self.disable_jit or self.around))
        for act in getattr(self, "_watchers", {}).get(name, ()):
            act(getattr(self, name))

    def watch(self, name: str, act: Callable[[Any], None]) -> None:
        """Call `act` with the value of a setting, now and each time that it is assigned."""
        self._watchers.setdefault(name, []).append(act)
        act(getattr(self, name))

    def update(self, name: str, value: Any) -> None:
        """Change one setting. Names of JAX, such as "jax_debug_nans", mean the setting without "jax_".
        "jax_enable_x64" is always True, and "jax_platforms" and "jax_platform_name" are "cpu".

        Raises:
            UnknownSettingError: there is no such setting.
            SettingValueError: it does not take this value.
        """
        if name in _FIXED:
            if value != _FIXED[name]:
                raise SettingValueError(name=name, wanted=repr(_FIXED[name]), value=value)
            return
        setattr(self, name.removeprefix("jax_"), value)

    @contextlib.contextmanager
    def going_around(self) -> Iterator[None]:
        """In the `with` block, no call goes straight to machine code."""
        self._go_around(1)
        try:
            yield
        finally:
            self._go_around(-1)

    def _go_around(self, step: int) -> None:
        super().__setattr__("around", self.around + step)
        self.debug = self.debug  # so that `fast` is set

    @contextlib.contextmanager
    def override(self, **settings: Any) -> Iterator[None]:
        """Change settings inside a `with` block, for all threads. Raises as `update` does."""
        checked = {name: _checked(name, value) for name, value in settings.items()}
        old = {name: getattr(self, name) for name in settings}
        try:
            for name, value in checked.items():
                setattr(self, name, value)
            yield
        finally:
            for name, value in old.items():
                setattr(self, name, value)


_DEVICES = ("auto", "emulate", "sanitize")
#: Setting -> (its values in words, whether a value is one of them).
_WANTED = {
    "debug": "an integer from 0 to 4",
    "cache_size": "a positive integer",
    "cache": "'on', 'off', 'ro', a folder, or 'ro:' and a folder",
    "cache_mb": "a positive integer",
    "unroll": "a number from 0 on",
    "cuda": "'auto', 'emulate' or 'sanitize'",
    "compile_budget": "a number of seconds, 0 or more",
    "num_threads": f"an integer from 1 to {_MAX_THREADS}",
}
_RANGES = {
    "debug": (0, 4),
    "cache_size": (1, None),
    "cache_mb": (1, None),
    "unroll": (0, None),
    "num_threads": (1, _MAX_THREADS),
}


#: Settings of JAX that have one value here.
_FIXED = {"jax_enable_x64": True, "jax_platforms": "cpu", "jax_platform_name": "cpu"}


@functools.cache
def _settings() -> list[str]:
    return sorted(f.name for f in fields(Config) if f.init)


def _checked(name: str, value: Any) -> Any:
    """`value` as the setting takes it."""
    if name not in _settings():
        raise UnknownSettingError(name=name, known=", ".join(_settings()))
    if name not in _WANTED:
        if type(value) in (bool, int) and value in (0, 1):
            return bool(value)
        raise SettingValueError(name=name, wanted="True or False", value=value)
    if name == "compile_budget":
        if type(value) in (int, float) and value >= 0:
            return float(value)
        raise SettingValueError(name=name, wanted=_WANTED[name], value=value)
    if name == "cache":
        if type(value) is str or isinstance(value, os.PathLike):
            return _folder(value)
        raise SettingValueError(name=name, wanted=_WANTED[name], value=value)
    if name == "cuda":
        if value in _DEVICES:
            return value
        raise SettingValueError(name=name, wanted=_WANTED[name], value=value)
    low, high = _RANGES[name]
    number = type(value) in (int, bool) and low <= value and (high is None or value <= high)
    if not number:
        raise SettingValueError(name=name, wanted=_WANTED[name], value=value)
    return int(value)


def _cuda(value: str, sanitizes: bool) -> str:
    """What the environment says of devices."""
    value = value if value in _DEVICES else "auto"
    return "sanitize" if sanitizes and value == "emulate" else value


config = Config(
    debug=min(_number("TRACEJIT_DEBUG", 0), 4),
    disable_jit=_flag("TRACEJIT_DISABLE_JIT"),
    check_types=_flag("TRACEJIT_CHECK_TYPES"),
    cache_size=_number("TRACEJIT_CACHE_SIZE", 4096, low=1),
    cache=_folder(os.environ.get("TRACEJIT_CACHE", "on")),
    cache_mb=_number("TRACEJIT_CACHE_MB", 512, low=1),
    num_threads=min(_number("TRACEJIT_NUM_THREADS", _processors(), low=1), _MAX_THREADS),
    debug_nans=_flag("TRACEJIT_DEBUG_NANS"),
    debug_infs=_flag("TRACEJIT_DEBUG_INFS"),
    log_compiles=_flag("TRACEJIT_LOG_COMPILES"),
    check_tracer_leaks=_flag("TRACEJIT_CHECK_TRACER_LEAKS"),
    fallback=_flag("TRACEJIT_FALLBACK", "1"),
    compile_budget=_seconds("TRACEJIT_COMPILE_BUDGET", 10.0),
    optimize=_flag("TRACEJIT_OPTIMIZE", "1"),
    full_tracebacks=_flag("TRACEJIT_FULL_TRACEBACKS"),
    regions=_flag("TRACEJIT_REGIONS"),
    perf=_flag("TRACEJIT_PERF"),
    unroll=_number("TRACEJIT_UNROLL", 4),
    cuda=_cuda(os.environ.get("TRACEJIT_CUDA", "auto"), _flag("TRACEJIT_CUDA_SANITIZE")),
)
