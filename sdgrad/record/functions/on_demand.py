"""Register rules of parts of SciPy that take long to import, once a program has imported such a part."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable

RULES_OF = {
    "scipy.interpolate": ("interpolators", "interpolation", "splines"),
    "scipy.ndimage": ("image_filters", "image_places"),
    "scipy.signal": ("convolutions", "filters", "signals", "spectra"),
    "scipy.stats": ("distributions", "multivariate", "sample_statistics", "scipy_stats"),
}
"""Modules of this folder that register rules, by what they import of SciPy."""
_left = dict(RULES_OF)


def load_imported() -> None:
    """Register the rules of what is imported by now."""
    if _left:
        load(name for name in [*_left] if name in sys.modules)


def load(parts: Iterable[str] = tuple(RULES_OF)) -> None:
    """Register the rules of parts of SciPy."""
    for part in parts:
        for module in _left.pop(part, ()):
            importlib.import_module(f"{__package__}.{module}")
