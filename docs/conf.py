"""Settings of the documentation site: ``make docs`` builds it in ``build/docs``."""

from importlib.metadata import version as version_of
from typing import Any

project = "sdgrad"
author = "The sdgrad authors"
copyright = "The sdgrad authors"
version = release = version_of("sdgrad")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = "sdgrad"
html_show_sphinx = False

autodoc_typehints = "none"  # docstrings give shapes, dtypes and units
autodoc_member_order = "bysource"

PAGES = {
    "../CONTRIBUTING.md": "contributing.md",
    "../CHANGELOG.md": "changelog.md",
    "../benchmarks/results/results.md": "measured.md",
    "../benchmarks/results/memory.md": "measured_memory.md",
}
"""Files outside of this folder, which pages link to as on a code host, and the pages that include them."""


def inside(app: Any, page: str, source: list[str]) -> None:
    """Turn links to files outside of this folder into links to pages of the site."""
    for file, own in PAGES.items():
        source[0] = source[0].replace(f"]({file}", f"]({own}")


def setup(app: Any) -> None:
    app.connect("source-read", inside)
