"""Show where a node comes from: the place in the user's file, and the text there."""

from __future__ import annotations

import linecache
from pathlib import Path

from sdgrad.program.tree import Source


def file_and_line(source: Source) -> str:
    """Return the name of the file, and the number of the line; the label of a node that has none."""
    return f"{Path(source.file).name}:{source.line}" if source.file and source.line else source.label


def text_of(source: Source) -> str:
    """Return the text of the line; "" of a node that has none."""
    return linecache.getline(source.file, source.line).strip() if source.file and source.line else ""
