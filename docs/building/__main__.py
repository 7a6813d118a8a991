"""python -m docs.building: makes build/docs/html. With --clean everything anew, with --no-gallery without examples."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

from sphinx.cmd.build import main as sphinx

from docs import make_pictures
from docs.building import errors, links, reference, running, speed, staging

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "docs"


def main() -> int:
    """Build the site; Sphinx' exit status, or 1 where a page's code or a link is wrong."""
    parser = argparse.ArgumentParser(prog="python -m docs.building", description=__doc__)
    parser.add_argument("--clean", action="store_true", help="forget what was built before")
    parser.add_argument("--no-gallery", action="store_true", help="do not run the examples of the gallery")
    args = parser.parse_args()
    if args.clean:
        shutil.rmtree(BUILD, ignore_errors=True)
    source, begun = BUILD / "source", time.monotonic()
    make_pictures.main()
    pages = staging.stage(ROOT, source)
    try:
        shown = running.run(pages, BUILD / "runs", jobs=os.cpu_count() or 1)
    except running.PageError as e:
        print(e, file=sys.stderr)
        return 1
    generated = reference.write(source / "docs/reference") | errors.write(source / "docs/reference")
    generated |= speed.write(source / "docs")
    staging.finish(source, pages, shown, generated)
    print(f"{len(pages)} pages and {len(generated)} generated files, {time.monotonic() - begun:.0f} s")
    options = ["-W", "--keep-going", "-q", "-j", "auto", "-c", str(Path(__file__).parent)]
    if args.no_gallery:
        options += ["-D", "plot_gallery=0"]
    status = sphinx([*options, "-b", "html", "-d", str(BUILD / "doctrees"), str(source), str(BUILD / "html")])
    if status == 0:
        shutil.copy(Path(__file__).parent / "start.html", BUILD / "html/index.html")
        wrong = links.broken(BUILD / "html")
        print("\n".join(wrong) or f"{BUILD / 'html/index.html'}: {time.monotonic() - begun:.0f} s")
        return 1 if wrong else 0
    return status


if __name__ == "__main__":
    sys.exit(main())
