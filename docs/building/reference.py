"""The reference: a page for each group of names, from the docstrings of the package that is installed."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import tracejit
from docs.building.docstring import markdown
from docs.building.grouping import MODULES, OBJECTS, group_of
from docs.building.staging import put
from tracejit.docstrings import parameters

LIBRARIES = ("numpy", "scipy", "optree", "functools", "builtins", "typing")


def write(folder: Path) -> set[Path]:
    """Write the pages and a page that lists them; the files written."""
    pages: dict[str, str] = {}
    listed = []
    for module, about in MODULES.items():
        names = public(module)
        groups: dict[str, dict[str, Any]] = {}
        for name, x in names.items():
            groups.setdefault(group_of(module, x), {})[name] = x
        own = [f"{module}{'-' if title else ''}{_slug(title)}" for title in sorted(groups)]
        for slug, title in zip(own, sorted(groups), strict=True):
            pages[slug] = page(module, title, groups[title])
        listed.append((module, about, own))
    pages["objects"] = _objects()
    pages["config"] = _config()
    pages["index"] = _index(listed)
    return {put(folder / f"{slug}.md", text.encode()) for slug, text in pages.items()}


def public(module: str) -> dict[str, Any]:
    """What users import from a module, in alphabetical order."""
    space = importlib.import_module(module)
    own = [n for n, x in vars(space).items() if n[0] != "_" and getattr(x, "__module__", "") == module]
    found = {n: getattr(space, n) for n in getattr(space, "__all__", own)}
    ours = {n: x for n, x in found.items() if callable(x) and _is_ours(x)}
    return dict(sorted(ours.items(), key=lambda item: (item[0].lower(), item[0])))


def _is_ours(x: Any) -> bool:
    return str(getattr(x, "__module__", None)).partition(".")[0] not in LIBRARIES


def page(module: str, title: str, names: Mapping[str, Any]) -> str:
    """The page of one group."""
    short = module.replace("tracejit", "tj", 1) if module == "tracejit" else module.removeprefix("tracejit.")
    heading = f"# {short}{': ' + title if title else ''}"
    return "\n\n".join([heading, *(_entry(f"{module}.{name}", x) for name, x in names.items())]) + "\n"


def _entry(full: str, x: Any, kind: str = "") -> str:
    kind = kind or ("class" if isinstance(x, type) else "function")
    fence, body = "`" * (5 if kind == "method" else 7), [markdown(x.__doc__ or "")]
    if kind == "class":
        body += [_entry(f"{full}.{name}", f, "method") for name, f in _methods(x)]
    text = "\n\n".join(body)
    return f"{fence}{{py:{kind}}} {full}{signature(x)}\n\n{text}\n{fence}"


def _methods(cls: type) -> Iterable[tuple[str, Any]]:
    """Public methods of a class of ours, and of its bases that are ours, which have a docstring."""
    for name in sorted(n for n in dir(cls) if n[0] != "_"):
        f = inspect.getattr_static(cls, name)
        f = getattr(f, "__func__", f)
        if inspect.isfunction(f) and _is_ours(f) and (f.__doc__ or "").strip():
            yield name, f


def signature(x: Any) -> str:
    """The parameters with their defaults, without annotations, which the list of parameters says in words."""
    if hasattr(type(x), "nin"):
        return f"({', '.join(name for name, _ in parameters(x))})"
    try:
        found = inspect.signature(x)
    except (TypeError, ValueError):
        return "(...)"
    shown = [_bare(p) for p in found.parameters.values() if p.name not in ("self", "cls")]
    text = str(inspect.Signature([p for p in shown if not p.name.startswith("_")]))
    return re.sub(r"<([\w.]+)[^>]*>", r"\1", text).replace("\n", " ")


def _bare(p: inspect.Parameter) -> inspect.Parameter:
    default = p.default
    if default is not p.empty and not isinstance(
        default, (bool, int, float, complex, str, tuple, type(None))
    ):
        default = _Shown(getattr(default, "__name__", None) or "...")
    return p.replace(annotation=p.empty, default=default)


class _Shown:
    """A default that is shown by its name."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _objects() -> str:
    entries = []
    for path in OBJECTS:
        module, _, name = path.rpartition(".")
        entries.append(_entry(path, getattr(importlib.import_module(module), name)))
    about = "What transformations give: you get them from calls, and never import them."
    return "\n\n".join(["# Objects", about, *entries]) + "\n"


def _config() -> str:
    cls = type(tracejit.config)
    return f"# Settings: tj.config\n\n{_entry('tracejit.config', cls)}\n"


def _index(listed: list[tuple[str, str, list[str]]]) -> str:
    parts = ["# Reference", _ABOUT, _tree("The language", ["objects", "config", "errors"])]
    for module, about, slugs in listed:
        parts += [f"## {module}", about, _tree("", slugs)]
    return "\n\n".join(parts) + "\n"


_ABOUT = (
    "Every public name, from the docstrings that `help` shows. The examples run in the tests. "
    "`import numpy as np` and `import tracejit as tj` go before each."
)


def _tree(caption: str, slugs: Iterable[str]) -> str:
    head = f":caption: {caption}\n" if caption else ""
    return f"```{{toctree}}\n{head}:maxdepth: 1\n\n" + "\n".join(slugs) + "\n```"


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
