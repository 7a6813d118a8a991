"""How much the tests notice: change one place of the package at a time, and see whether they fail.

    python tools/mutate.py --record build/tests.json --every 8   # which tests run which functions; once
    python tools/mutate.py --map build/tests.json --count 60 --seed 1
    python tools/mutate.py --map build/tests.json --count 20 --rooms ops passes
    python tools/mutate.py --show 30                             # print mutants only

A mutant is the package with one change: a comparison or an operator that became another, operands swapped, a term
dropped, a sign flipped, a number one off, a condition negated or skipped. First one run of the suite, or of every n-th
test of it, writes down which functions of the package each test enters. Then the tests of `make test` are collected
once, and for each mutant the process forks: the child gives the changed function its new code and runs tests that enter
it, until one fails or their time is over. Those of the file come first, then the others and tests that are called as
what is changed, then tests that name it, other parameters of all these, then tests that enter the file; quick ones
first, and one of each test function before a second one. A mutant of what
runs while a module is imported has a new process, which imports tests of a few files. A test that fails on the
unchanged package too kills nothing. Times are of the processors, so that a busy machine changes no outcome.

A mutant that survives is printed with its place: it either does the same as the original, which a person has to judge,
or a test is missing, or the tests that would fail were not among those chosen: more `--seconds` give more tests.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import types
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from choosing import PACKAGE, Map, tests_for
from mutants import ROOT, Mutant, mutants, replaced

#: So many seconds a child may wait for something, and a process that imports a mutant compute.
_IDLE = 60
#: As many files of tests a process imports that imports a mutant.
_FILES = 8
_SUITE = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not exhaustive"]
_QUICK = [*_SUITE, "--tb=no", "-p", "no:faulthandler"]


def chosen(rooms: list[str], count: int, seed: int) -> list[Mutant]:
    """Random mutants: each file as likely as it has places to change."""
    given = [p for room in rooms for p in sorted((PACKAGE / room).rglob("*.py"))]
    files = given or sorted(PACKAGE.rglob("*.py"))
    every = [m for p in files for m in mutants(p)]
    return random.Random(seed).sample(every, min(count, len(every)))


# ---------------------------------------------------------------- which tests run which functions


def key_of(code: types.CodeType) -> str:
    """The name of a function of the package, "" of any other. Lines are no part of it: they move with each change."""
    file = code.co_filename
    inside = file.startswith(f"{PACKAGE}{os.sep}")
    return f"{Path(file).relative_to(ROOT)}:{code.co_qualname}" if inside else ""


class Recorder:
    """A plugin of pytest that notes the functions of the package which each test enters, and its processor time."""

    def __init__(self, every: int) -> None:
        self.every, self.entered = every, set[int]()
        self.codes: dict[int, types.CodeType] = {}  # held, so that no other object gets the same id
        self.tests: dict[str, tuple[float, list[str]]] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = items[:: self.every]

    def _enter(self, frame: types.FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if id(code) not in self.entered:
            self.entered.add(id(code))
            self.codes[id(code)] = code

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.entered.clear()
        start = time.process_time()
        sys.settrace(self._enter)
        yield
        sys.settrace(None)
        keys = sorted(filter(None, (key_of(self.codes[i]) for i in self.entered)))
        self.tests[item.nodeid] = (round(time.process_time() - start, 3), keys)


def record(path: Path, every: int) -> None:
    """Run the suite once, and write the map of tests to functions."""
    recorder = Recorder(every)
    pytest.main([*_SUITE, str(ROOT / "tests")], plugins=[recorder])
    names = sorted({k for _, keys in recorder.tests.values() for k in keys})
    number = {k: n for n, k in enumerate(names)}
    tests = {t: (s, [number[k] for k in keys]) for t, (s, keys) in recorder.tests.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"functions": names, "tests": tests}), encoding="utf-8")


# ---------------------------------------------------------------- running them


class Server:
    """A plugin of pytest that, instead of running the tests, runs some of them in a child for each mutant."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.known = options, Map(options.map)
        self.outcomes: Counter[str] = Counter()
        self.passing: dict[str, bool] = {}  # tests that were run on the unchanged package
        self.is_child = self.failed = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        gc.unfreeze()
        functions = [f for f in gc.get_objects() if type(f) is types.FunctionType]  # not isinstance: proxies
        gc.freeze()
        self.functions = defaultdict[str, list[types.FunctionType]](list)
        for f in functions:
            self.functions[f.__code__.co_filename].append(f)
        self.items = {item.nodeid: item for item in session.items}
        o = self.options
        for n, mutant in enumerate(chosen(o.rooms, o.count, o.seed), 1):
            if n <= o.skip or (o.only and n not in o.only):
                continue
            start = _processor_time()
            how, told = self.outcome(mutant)
            self.outcomes[how] += 1
            print(f"{n:4d} {how} ({told}, {_processor_time() - start:.1f} s): {mutant}", flush=True)
        return True

    def outcome(self, mutant: Mutant) -> tuple[str, str]:
        """("killed", "survived" or "timed out", by or after which tests)."""
        pairs = replaced(mutant)
        if pairs == []:
            return "survived", "the same bytecode"
        changed = [
            (f, new)
            for old, new in pairs or ()
            for f in self.functions[str(mutant.path)]
            if f.__code__ == old
        ]
        key = key_of(pairs[0][0]) if pairs else ""
        tests = tests_for(mutant, key, self.known, list(self.items), self.options.seconds)
        while True:
            tests = [t for t in tests if self.passing.get(t, True)]
            if changed:
                how, test = self._fork(changed, tests, mutant)
            else:
                how, test = imported(mutant, tests)
            if how == "killed" and test and not self._passes(test):
                continue  # it fails as things are
            return how, f"by {test}" if test else f"{len(tests)} tests{'' if changed else ', imported'}"

    def _passes(self, test: str) -> bool:
        if test not in self.passing:
            self.passing[test] = self._fork([], [test])[0] == "survived"
        return self.passing[test]

    def _fork(
        self,
        changed: list[tuple[types.FunctionType, types.CodeType]],
        tests: list[str],
        mutant: Mutant | None = None,
    ) -> tuple[str, str]:
        with tempfile.NamedTemporaryFile("r") as told:
            pid = os.fork()
            if not pid:
                if mutant is not None:
                    mutant.show()
                self._child(changed, tests, told.name)
            status = waited(pid)
            last = told.read().splitlines()[-1:]
        if last == ["survived"]:
            return "survived", ""
        hangs = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU
        return ("timed out" if hangs else "killed"), "".join(last)

    def _child(
        self, changed: list[tuple[types.FunctionType, types.CodeType]], tests: list[str], tell: str
    ) -> None:
        """Ends the process. What it writes down last is the test that failed, or was running when it died."""
        os.setpgid(0, 0)
        self.is_child = True
        with open(tell, "w", buffering=1) as told, open(os.devnull, "w") as nothing:
            os.dup2(nothing.fileno(), 1)
            with contextlib.suppress(BaseException):
                for f, code in changed:
                    f.__code__ = code
                for test in tests:
                    told.write(f"{test}\n")
                    allowed = int(time.process_time() + 10 * (1 + self.known.seconds_of(test)))
                    resource.setrlimit(resource.RLIMIT_CPU, (allowed, resource.RLIM_INFINITY))
                    item = self.items[test]
                    item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
                    if self.failed:
                        break
                else:
                    told.write("survived\n")
            os._exit(0)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """Ends a child at once whose test has failed: to describe a failure takes longer than most tests."""
        if self.is_child and call.excinfo and not item.get_closest_marker("xfail"):
            if not isinstance(call.excinfo.value, (pytest.skip.Exception, pytest.xfail.Exception)):
                os._exit(1)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed = self.failed or report.failed


def _processor_time() -> float:
    """Of this process and the ones it has waited for: the machine may be busy."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def waited(pid: int) -> int:
    """The status of a child that leads a group of processes. It is ended if it does nothing for a minute."""
    used, since = "", time.monotonic()
    while (found := os.waitpid(pid, os.WNOHANG)) == (0, 0):
        time.sleep(0.02)
        now = " ".join(
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:15]
        )
        if now != used:
            used, since = now, time.monotonic()
        elif time.monotonic() - since > _IDLE:
            os.kill(pid, signal.SIGXCPU)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    return found[1]


def imported(mutant: Mutant, tests: list[str]) -> tuple[str, str]:
    """The same in a process that imports the mutant. It gets tests of a few files, which it imports, too."""
    files = list(dict.fromkeys(t.partition("::")[0] for t in tests))[:_FILES]
    tests = [t for t in tests if t.startswith(tuple(f"{f}::" for f in files))][:200]
    place = [str(mutant.path), str(mutant.start), str(mutant.end), mutant.new]
    command = [sys.executable, str(ROOT / "tools" / "mutants.py"), *place, "-x", *_QUICK, *tests]
    with tempfile.TemporaryFile("w+") as output:
        to = [(os.POSIX_SPAWN_DUP2, output.fileno(), 1), (os.POSIX_SPAWN_DUP2, output.fileno(), 2)]
        pid = os.posix_spawn(sys.executable, command, os.environ, file_actions=to, setpgroup=0)
        resource.prlimit(pid, resource.RLIMIT_CPU, (_IDLE, resource.RLIM_INFINITY))
        status = waited(pid)
        output.seek(0)
        told = output.read()
    failed = [
        t for t in tests if f"FAILED {t} - " in told or f"FAILED {t}\n" in told
    ]  # names may have spaces
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        return "timed out", ""
    return (
        ("survived", "")
        if os.waitstatus_to_exitcode(status) in (0, 5)
        else ("killed", failed[0] if failed else "")
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--record", type=Path, help="run the suite, and write which tests enter which functions"
    )
    parser.add_argument("--every", type=int, default=1, help="record every n-th test only (1)")
    parser.add_argument("--map", type=Path, help="what --record has written")
    parser.add_argument("--count", type=int, default=20, help="how many mutants (20)")
    parser.add_argument("--skip", type=int, default=0, help="without the first ones (0)")
    parser.add_argument("--seed", type=int, default=0, help="which (0)")
    parser.add_argument("--only", nargs="+", type=int, default=[], help="their numbers, of those of the seed")
    parser.add_argument("--rooms", nargs="+", default=[], help="folders of the package (all)")
    parser.add_argument(
        "--seconds", type=float, default=10, help="of tests for each mutant, as recorded (10)"
    )
    parser.add_argument("--show", type=int, help="only print so many mutants")
    options = parser.parse_args()
    if options.show:
        print(*chosen(options.rooms, options.show, options.seed), sep="\n")
        return 0
    os.chdir(ROOT)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # no threads that a fork would lose
    if options.record:
        record(options.record, options.every)
        return 0
    if options.map is None:
        parser.error("--map: first --record which tests enter which functions")
    server = Server(options)
    pytest.main([*_QUICK, "-s", str(ROOT / "tests")], plugins=[server])
    print(*(f"{count:5d} {how}" for how, count in server.outcomes.most_common()), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
