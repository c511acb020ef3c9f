"""Register rules of parts of SciPy that take long to import, once a program has imported such a part."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable

RULES_OF = {
    "scipy.integrate": ("integration",),
    "scipy.interpolate": (
        *("interpolators", "interpolation", "splines", "fitted_splines", "scattered", "spline_zeros"),
        *("bivariate_splines", "clough_tocher"),
    ),
    "scipy.ndimage": ("image_filters", "image_measurements", "image_places", "rank_filters"),
    "scipy.signal": (
        "convolutions",
        "filters",
        "frequency_responses",
        "resampling",
        "signals",
        "spectra",
        "transfer_functions",
    ),
    "scipy.spatial.distance": ("distances",),
    "scipy.spatial.transform": ("rotations", "rotation_angles", "rotation_means"),
    "scipy.stats": (
        *(
            "binned_statistics",
            "distributions",
            "hypothesis_tests",
            "kernel_density",
            "limited_statistics",
            "matrix_distributions",
            "multivariate",
            "order_statistics",
            "ranks",
        ),
        *("sample_distances", "sample_measures", "sample_statistics", "scipy_stats"),
    ),
}
"""Modules of this folder that register rules, by what they import of SciPy."""
_left: dict[str, tuple[str, ...]] = {p: tuple(f"{__package__}.{m}" for m in own) for p, own in RULES_OF.items()}


def offer(part: str, *modules: str) -> None:
    """Have modules of higher folders register rules of a part of SciPy."""
    _left[part] = (*_left.get(part, ()), *modules)


def load_imported() -> None:
    """Register the rules of what is imported by now."""
    if _left:
        load(name for name in [*_left] if name in sys.modules)


def load(parts: Iterable[str] | None = None) -> None:
    """Register the rules of parts of SciPy; of all, if nothing is said."""
    for part in [*_left] if parts is None else parts:
        for module in _left.pop(part, ()):
            importlib.import_module(module)
