"""Runs the code of the pages: each page is one program, in a process of its own, as `tests/test_docs.py` runs it.

python -m docs.building.running PAGE    runs one page, and prints what each block printed, as JSON
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import linecache
import os
import subprocess
import sys
import types
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from docs.building.staging import BLOCK

ROOT = Path(__file__).parents[2]
SECONDS = 300


class PageError(Exception):
    """A block of a page raised something; the text has the page and the traceback."""


def run(pages: Mapping[str, str], folder: Path, jobs: int) -> dict[str, list[str]]:
    """What the blocks of each page print. Pages that have not changed, nor the package, are not run again."""
    folder.mkdir(parents=True, exist_ok=True)
    package = _package()
    todo = [name for name, text in pages.items() if name.startswith("docs/") and BLOCK.search(text)]
    with ThreadPoolExecutor(jobs) as pool:
        outputs = list(pool.map(lambda name: _kept(name, pages[name], folder, package), todo))
    return dict(zip(todo, outputs, strict=True))


def _package() -> str:
    """A mark that changes with the package."""
    files = sorted((ROOT / "tracejit").rglob("*.py"))
    return repr([(str(p), p.stat().st_mtime_ns) for p in files])


def _kept(name: str, text: str, folder: Path, package: str) -> list[str]:
    mark = hashlib.sha256((text + package).encode()).hexdigest()
    kept = folder / (name.replace("/", "-") + ".json")
    if kept.is_file():
        found = json.loads(kept.read_text(encoding="utf-8"))
        if found["mark"] == mark:
            return found["outputs"]
    outputs = _run_apart(name)
    kept.write_text(json.dumps({"mark": mark, "outputs": outputs}), encoding="utf-8")
    return outputs


def _run_apart(name: str) -> list[str]:
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "MPLBACKEND": "agg"}
    command = [sys.executable, "-m", "docs.building.running", name]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if done.returncode:
        raise PageError(f"{name}: its code fails\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def outputs_of(name: str) -> list[str]:
    """Run the blocks of a page in one module, and give what each printed."""
    module = types.ModuleType("page")
    sys.modules[module.__name__] = module  # dataclasses look for their module
    outputs = []
    for n, block in enumerate(BLOCK.findall((ROOT / name).read_text(encoding="utf-8"))):
        file = f"{Path(name).name}[{n}]"
        linecache.cache[file] = (len(block), None, block.splitlines(True), file)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(block, file, "exec"), vars(module))
        outputs.append(out.getvalue())
    return outputs


if __name__ == "__main__":
    print("\n" + json.dumps(outputs_of(sys.argv[1])))
