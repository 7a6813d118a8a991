"""python -m tracejit: functions shown, drawn, measured and profiled; the rule matrix, help on an error, the disk cache,
SciPy's names, a check-up, the demo."""

from __future__ import annotations

import argparse
import importlib.util
import os
import runpy
import sys
import sysconfig
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tracejit
from tracejit import doctor, errors
from tracejit.config import config
from tracejit.interpreters.jit import disk_cache, disk_cache_maker
from tracejit.ir.primitive import Op, Sentinel, all_ops
from tracejit.lazily import LazyModule
from tracejit.scipy import coverage

_whole: Any = LazyModule("tracejit.profiling.whole")
_commands: Any = LazyModule("tracejit.terminal.commands")
SLOTS = (
    "type",
    "eval",
    "inplace",
    "jvp",
    "linearize",
    "transpose",
    "batch",
    "simplify",
    "effects",
    "bounds",
    "kernel",
)


#: The example that `--help` of each command shows; those of the other rooms are theirs. The tests run them.
EXAMPLES = {
    "ops": "python -m tracejit ops --doc",
    "help": "python -m tracejit help TJ012",
    "cache": "python -m tracejit cache info",
    "coverage": "python -m tracejit coverage",
    "doctor": "python -m tracejit doctor",
    "demo": "python -m tracejit demo",
}
_ABOUT_FUNCTIONS = {
    "show": "say what jit makes of a function of a file, and print its program",
    "draw": "draw the program of a function",
    "bench": "compare the time of a function with that of its compiled form",
}


def main(argv: list[str] | None = None) -> int:
    """Run one subcommand; the exit status. Without one, say which there are."""
    parser = _parser()
    args = parser.parse_args(argv)
    try:
        if not hasattr(args, "run"):
            parser.print_help()
            return 2
        status = args.run(args)
        sys.stdout.flush()
        return status
    except (
        errors.TargetError,
        errors.PictureFormatError,
        errors.PictureLibraryError,
        errors.PictureStageError,
    ) as e:
        print(e, file=sys.stderr)
        return 2
    except (
        BrokenPipeError
    ):  # who reads has seen enough, as `head`; Python would complain of what is left at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tracejit", description=__doc__)
    parser.add_argument("--version", action="version", version=f"tracejit {tracejit.__version__}")
    commands = parser.add_subparsers(metavar="command")
    for name, about in _ABOUT_FUNCTIONS.items():
        command = commands.add_parser(name, help=about)
        _commands.add(name, command)
        command.set_defaults(run=_commands.RUN[name])
    profiled = commands.add_parser(
        "profile", help="run a script, and say where the time of its functions goes"
    )
    _whole.add(profiled)
    profiled.set_defaults(run=lambda args: _whole.run(args))
    ops = _add(commands, "ops", "the rule matrix: what each primitive's record says", _ops)
    ops.add_argument("--doc", action="store_true", help="one line on each primitive instead")
    page = _add(commands, "help", "the page of an error code, or the list of all", _help)
    page.add_argument("code", nargs="?", help="such as TJ012")
    kept = _add(commands, "cache", "the compiled functions on disk: info, verify, clear", _cache)
    kept.add_argument("action", choices=list(_CACHE_ACTIONS), help="; ".join(_CACHE_ACTIONS.values()))
    names = _add(commands, "coverage", "which functions of the installed SciPy have traced forms", _coverage)
    names.add_argument("--markdown", action="store_true", help="the page docs/coverage.md")
    _add(commands, "doctor", "versions, processor, libraries, threads", _doctor)
    _add(commands, "demo", "train a network on real data", _demo)
    return parser


def _add(commands: Any, name: str, about: str, run: Callable[[Any], int]) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=about, epilog=f"example: {EXAMPLES[name]}")
    command.set_defaults(run=run)
    return command


# ---- ops ------------------------------------------------------------------------------------------


def _ops(args: Any) -> int:
    """Print the matrix; fail if a record has a hole."""
    ops = list(all_ops())
    if args.doc:
        width = max(len(op.name) for op in ops)
        print("\n".join(f"{op.name:{width}}  {op.doc}" for op in ops))
        return 0
    rows = [("op", *SLOTS)] + [(op.name, *(cell(op, slot) for slot in SLOTS)) for op in ops]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip())
    holes = [f"{op.name}.{slot}" for op in ops for slot in SLOTS if getattr(op, slot) is None]
    print(f"\n{len(ops)} primitives, {len(holes)} holes{': ' + ' '.join(holes) if holes else ''}")
    return 1 if holes else 0


def cell(op: Op, slot: str) -> str:
    """A slot in a word: the sentinel's name, the kernel's form, `yes`, a count, or HOLE."""
    value = getattr(op, slot)
    if value is None:
        return "HOLE"
    if isinstance(value, Sentinel):
        return value.name
    if slot == "kernel":
        return type(value).__name__
    return f"{len(value)} rules" if slot == "simplify" else "yes"


# ---- help -----------------------------------------------------------------------------------------


def _help(args: Any) -> int:
    if args.code is None:
        print("\n".join(f"{code}  {cls.__name__}" for code, cls in sorted(errors.CODES.items())))
        return 0
    cls = errors.CODES.get(args.code.upper())
    if cls is None:
        print(f"{args.code} is no error code; `python -m tracejit help` lists them", file=sys.stderr)
        return 1
    print(cls.page())
    return 0


# ---- cache ------------------------------------------------------------------------------------------

_CACHE_ACTIONS = {
    "info": "info: where it is, how much it holds",
    "verify": "verify: read every entry, remove the damaged ones (exit status 1 if there are any)",
    "clear": "clear: remove all entries",
}


def _cache(args: Any) -> int:
    with warnings.catch_warnings(action="ignore", category=errors.CacheFolderWarning):
        kept = disk_cache()
    if kept is None:
        print("the disk cache is off (TRACEJIT_CACHE)")
        return 0
    if kept.folder_problem:
        print(f"{kept.folder} is not used: {kept.folder_problem}", file=sys.stderr)
        return 1
    if args.action == "clear":
        print(f"removed {kept.clear()} files from {kept.folder}")
        return 0
    if args.action == "verify":
        sound, bad = kept.verify()
        for path, problem in bad:
            print(f"{'left' if os.path.lexists(path) else 'removed'} {path}: {problem}")
        print(f"{sound} sound entries, {len(bad)} others")
        return 1 if bad else 0
    files = list(kept.files())
    own = sum(os.path.basename(path).startswith(disk_cache_maker()) for path, _ in files)
    print(f"folder   {kept.folder}{'' if kept.writable else ' (read only)'}")
    print(f"entries  {len(kept.entries())}, of them {own} made by this version for this processor")
    print(f"size     {sum(s.st_size for _, s in files) / 1e6:.1f} MB of at most {config.cache_mb} MiB")
    return 0


# ---- coverage ---------------------------------------------------------------------------------------


def _coverage(args: Any) -> int:
    print(coverage.page() if args.markdown else coverage.table(), end="")
    return 0


# ---- doctor, demo -----------------------------------------------------------------------------------


def _doctor(args: Any) -> int:
    problems = 0
    for name, value, ok in doctor.report():
        print(f"{'  ' if ok else '! '}{name:12} {value}")
        problems += not ok
    return 1 if problems else 0


def demo_file() -> Path | None:
    """examples/digits.py of the source tree, or as the wheel installed it."""
    roots = (Path(tracejit.__file__).parents[1], Path(sysconfig.get_path("data")) / "share" / "tracejit")
    found = [root / "examples" / "digits.py" for root in roots]
    return next((f for f in found if f.is_file()), None)


def _demo(args: Any) -> int:
    path = demo_file()
    if path is None:
        print("the demo is examples/digits.py of the source tree", file=sys.stderr)
        return 1
    if any(importlib.util.find_spec(name) is None for name in ("rich", "sklearn")):
        print("the demo needs two more packages: pip install rich scikit-learn", file=sys.stderr)
        return 1
    runpy.run_path(str(path), run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
