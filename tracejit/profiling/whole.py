"""Whole processes: `TRACEJIT_PROFILE=path`, and `python -m tracejit profile SCRIPT`."""

from __future__ import annotations

import argparse
import atexit
import os
import runpy
import sys
from typing import Any

from tracejit.profiling.profile import Profile, check_suffix

#: The process that writes the file; those that it starts don't, unless their file is another one.
_OWNER = "TRACEJIT_PROFILE_OWNER"
EXAMPLE = "python -m tracejit profile -o profile.html train.py --epochs 3"


def begin(path: str) -> None:
    """Profile this process from now on, and write `path` when it ends; `%p` in it is the process's number. Raises
    ProfileSuffixError."""
    pid = str(os.getpid())
    if "%p" not in path and os.environ.setdefault(_OWNER, pid) != pid:
        return
    name = check_suffix(path.replace("%p", pid))
    profile = Profile().__enter__()
    atexit.register(_end, profile, name, pid)


def _end(profile: Profile, name: str, pid: str) -> None:
    if str(os.getpid()) == pid:  # not in a child, which runs the same functions at its end
        profile.__exit__()
        profile.save(name)


def add(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of the command."""
    parser.epilog = f"example: {EXAMPLE}"
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write x.html, x.json, x.speedscope.json or x.txt"
    )
    parser.add_argument("--limit", type=int, default=40, help="rows of the table (40)")
    parser.add_argument("--roofline", action="store_true", help="show the roofline, too")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
    parser.add_argument("script", metavar="SCRIPT", help="the program, and its arguments")
    parser.add_argument("args", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def run(args: Any) -> int:
    """Run a script or module as Python does, and print its profile to stderr."""
    if args.output:
        check_suffix(args.output)
    if not args.module and not os.path.exists(args.script):
        print(f"there is no file {args.script}", file=sys.stderr)
        return 2
    argv, path = sys.argv, list(sys.path)
    sys.argv = [args.script, *args.args]
    sys.path[0] = os.getcwd() if args.module else os.path.dirname(os.path.abspath(args.script))
    try:
        with Profile() as profile:
            try:
                (runpy.run_module if args.module else runpy.run_path)(args.script, run_name="__main__")
            finally:
                profile.__exit__()
                _tell(profile, args)
    finally:
        sys.argv, sys.path[:] = argv, path
    return 0


def _tell(profile: Profile, args: Any) -> None:
    print(profile.table(args.limit), file=sys.stderr)
    if args.roofline:
        print(profile.roofline(), file=sys.stderr)
    if args.output:
        profile.save(args.output)
        print(f"written: {args.output}", file=sys.stderr)
