"""The subcommands show, draw and bench."""

from __future__ import annotations

import argparse
import importlib.util
from typing import Any

from tracejit.api.autodiff.derivatives import grad
from tracejit.api.explain import explain
from tracejit.api.jit.jitted import Jitted, jit
from tracejit.lazily import LazyModule
from tracejit.pictures.public import draw
from tracejit.terminal import targets
from tracejit.terminal.measuring import ENOUGH, Comparison
from tracejit.terminal.targets import Target

_console: Any = LazyModule("rich.console")
STAGES = ("jaxpr", "loops", "source", "llvm", "asm", "ptx", "numba")
#: The examples of --help, which the tests run.
_FUNCTION = "examples/programs/stencils.py:jacobi_2d --args '9, np.ones((20, 20)), np.ones((20, 20))'"
EXAMPLES = {
    "show": f"python -m tracejit show {_FUNCTION} --stage loops",
    "draw": f"python -m tracejit draw {_FUNCTION} -o jacobi.svg",
    "bench": f"python -m tracejit bench {_FUNCTION} --seconds 0.1",
}


def add(name: str, parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of the command `name`."""
    parser.epilog = f"example: {EXAMPLES[name]}"
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("target", metavar="FILE:FUNCTION", help="a function of a file, or MODULE:FUNCTION")
    parser.add_argument(
        "--args", default="", help="its arguments, as in a call; may use names of the file, np and tj"
    )
    parser.add_argument("--grad", action="store_true", help="its gradient, by the first argument")
    if name == "show":
        parser.add_argument("--stage", choices=STAGES, help="print this form of the program, too")
    elif name == "draw":
        parser.add_argument(
            "-o", "--output", default="program.html", help="x.html, .svg, .png, .dot, .json, .onnx, .pbtxt"
        )
        parser.add_argument(
            "--stage", help="one of the picture's stages; the program as recorded, by default"
        )
    else:
        parser.add_argument("--seconds", type=float, default=ENOUGH, help="how long each is measured (1)")


def _target(args: Any) -> Target:
    found = targets.load(args.target, args.args)
    if not args.grad:
        return found
    function = found.function
    return Target(
        jit(grad(function.fun if isinstance(function, Jitted) else function)), found.args, found.kwargs
    )


def show(args: Any) -> int:
    """Print what `explain` says, and a form of the program."""
    target = _target(args)
    report = explain(target.function)(*target.args, **target.kwargs)
    print(report)
    if args.stage and report.fallback is None:
        f = target.function if isinstance(target.function, Jitted) else jit(target.function)
        print("\n" + f.lower(*target.args, **target.kwargs).compile().as_text(args.stage))
    return 0 if report.fallback is None else 1


def picture(args: Any) -> int:
    """Write the picture of the program."""
    target = _target(args)
    draw(target.function, args.stage)(*target.args, **target.kwargs).save(args.output)
    print(f"{args.output} is written")
    return 0


def bench(args: Any) -> int:
    """Print the times of Python and of the compiled function; fail where results differ."""
    comparison = Comparison(_target(args), args.seconds)
    if importlib.util.find_spec("rich"):
        _console.Console().print(comparison)
    else:
        print(comparison)
    return 1 if "DIFFER" in comparison.difference else 0


RUN = {"show": show, "draw": picture, "bench": bench}
