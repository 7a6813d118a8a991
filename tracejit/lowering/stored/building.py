"""Libraries on disk: objects as they are, or made into static and shared libraries by the system's compiler."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Sequence

from tracejit.errors import LibraryBuildError
from tracejit.lazily import LazyModule

shlex, shutil, subprocess, tempfile = map(LazyModule, ("shlex", "shutil", "subprocess", "tempfile"))

_SHARED = (".so", ".dylib")


def build(path: str, made: bytes, libraries: Sequence[str] = ()) -> None:
    """Write an object as `.o`, a static library (`.a`) or a shared one (`.so`), which is linked with `libraries` (as
    `-l` names them, or files). Raises LibraryBuildError, OSError."""
    suffix = os.path.splitext(path)[1]
    if suffix == ".o":
        with open(path, "wb") as file:
            file.write(made)
    elif suffix == ".a":
        _run(path, made, lambda object_file, out: [*_tool("ar", path), "rcs", out, object_file])
    elif suffix in _SHARED:
        given = [x if os.path.sep in x else f"-l{x}" for x in (*libraries, "m")]
        _run(
            path,
            made,
            lambda object_file, out: [*_tool("cc", path), "-shared", "-o", out, object_file, *given],
        )
    else:
        raise LibraryBuildError(path=path, problem="its name does not end with .o, .a or .so")


def _run(path: str, made: bytes, command: Callable[[str, str], list[str]]) -> None:
    """Run the command that makes the library of an object, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="tracejit") as folder:
        object_file, out = os.path.join(folder, "object.o"), os.path.join(folder, "library")
        with open(object_file, "wb") as file:
            file.write(made)
        run = subprocess.run(command(object_file, out), capture_output=True, text=True, check=False)
        if run.returncode:
            said = (run.stderr or run.stdout).strip().splitlines()
            raise LibraryBuildError(path=path, problem=f"{command('', '')[0]} says: {' '.join(said[-3:])}")
        shutil.copyfile(out, path)
        if path.endswith(_SHARED):
            os.chmod(path, 0o755)


def compiler() -> list[str]:
    """The command of a C compiler; empty if there is none: CC of the environment, the system's, or ziglang's."""
    wanted = shlex.split(os.environ.get("CC", ""))
    for command in (wanted, ["cc"], ["gcc"], ["clang"]):
        if command and shutil.which(command[0]):
            return command
    return [sys.executable, "-m", "ziglang", "cc"] if importlib.util.find_spec("ziglang") else []


def _tool(name: str, path: str) -> list[str]:
    found = compiler() if name == "cc" else [name] if shutil.which(name) else []
    if not found and name == "ar" and importlib.util.find_spec("ziglang"):
        found = [sys.executable, "-m", "ziglang", "ar"]
    if not found:
        raise LibraryBuildError(path=path, problem=f"there is no {'C compiler' if name == 'cc' else name}")
    return found
