"""Whether each link of the built pages leads to a place that exists. Links to other hosts are not looked at."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LINK = re.compile(r'<a\b[^>]*?\bhref="([^"]*)"')
_PLACE = re.compile(r'\b(?:id|name)="([^"]+)"')


def broken(folder: Path) -> list[str]:
    """Lines `page: link` for each link inside of the folder that leads nowhere."""
    places = cache(lambda path: set(_PLACE.findall(path.read_text(encoding="utf-8"))))
    wrong = []
    for page in sorted(folder.rglob("*.html")):
        for link in sorted(set(_LINK.findall(page.read_text(encoding="utf-8")))):
            url = urlsplit(link.replace("&amp;", "&"))
            if url.scheme or url.netloc:
                continue
            target = (page.parent / unquote(url.path)).resolve() if url.path else page
            place = unquote(url.fragment)
            if not target.is_file() or (place and target.suffix == ".html" and place not in places(target)):
                wrong.append(f"{page.relative_to(folder)}: {link}")
    return wrong
