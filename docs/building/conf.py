"""Sphinx' settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tracejit
from docs.building import crossing

ROOT = Path(__file__).parents[2]

project = "tracejit"
author = "the authors of tracejit"
copyright = "the authors of tracejit, Apache-2.0"
version = release = tracejit.__version__

root_doc = "docs/index"
extensions = ["myst_parser", "sphinx_gallery.gen_gallery"]
exclude_patterns = [
    "**/GALLERY_HEADER.rst",
    "**/*.codeobj.json",
    "docs/gallery/sg_execution_times.rst",
    "sg_execution_times.rst",
]
myst_enable_extensions = ["colon_fence", "deflist", "fieldlist", "attrs_inline"]
myst_heading_anchors = 4
python_maximum_signature_line_length = 90
add_module_names = False
toc_object_entries_show_parents = "hide"
pygments_style, pygments_dark_style = "friendly", "monokai"

sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "examples/gallery")],
    "gallery_dirs": ["docs/gallery"],
    "filename_pattern": r"/\w+\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "capture_repr": (),
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 1000,
    "abort_on_example_error": True,
    "write_computation_times": False,
    "reset_modules": ("matplotlib",),
}

html_theme = "furo"
html_title = f"tracejit {version}"
html_static_path = [str(Path(__file__).parent / "static")]
html_css_files = ["tracejit.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
_COLOURS = {"color-brand-primary": "#1f5f8b", "color-brand-content": "#1f6f9f"}
html_theme_options: dict[str, Any] = {
    "light_css_variables": {**_COLOURS, "font-stack": "'Source Sans 3', 'Segoe UI', system-ui, sans-serif"},
    "dark_css_variables": {"color-brand-primary": "#7fb8de", "color-brand-content": "#8fc4e8"},
    "navigation_with_keys": True,
}


def setup(app: Any) -> None:
    """Names in code become links to the reference."""
    app.add_post_transform(crossing.NamesAsLinks)
