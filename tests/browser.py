"""Pages in a real browser: Chromium without a window, where it is installed."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest


def browsed(page: str, acts: str, folder: Path) -> list[Any]:
    """What `acts`, lines of JavaScript after those of the page, put into the list `done`; last what was raised in the
    page. Skips the test where there is no browser."""
    browser = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chromium-browser"))), None)
    if browser is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
    first = "<script>const raised = []; addEventListener('error', e => raised.push(e.message));</script>"
    last = (
        f"<script>const done = [];\n{acts}\ndone.push(raised);\n"
        'document.body.innerHTML = "<pre>" + JSON.stringify(done) + "</pre>";</script></body>'
    )
    path = folder / "page.html"
    path.write_text(page.replace("<head>", f"<head>{first}", 1).replace("</body>", last), encoding="utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", path.as_uri()]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    found = re.search(r"<pre>(.*?)</pre>\s*</body>", shown, re.DOTALL)
    assert found is not None, shown[-2000:]
    return json.loads(html.unescape(found[1]))
