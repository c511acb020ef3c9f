"""Whether numbers are the same, to the precision of their type."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

TOLERANCE = {2: 3e-2, 4: 3e-4, 8: 1e-8}


def tolerance(*dtypes: np.dtype) -> float:
    """The relative error that the least precise of some types has."""
    widths = [np.finfo(d).dtype.itemsize for d in dtypes if np.dtype(d).kind in "fc"]
    return TOLERANCE[min([*widths, 8])]


def difference(found, wanted, relative: float, points: Sequence[np.ndarray] = (), least: float = 0.0) -> str | None:
    """Where two arrays differ; None if nowhere.

    :param points: the arguments of an element-wise function: no element may be off by a share of the largest one.
    :param least: what an element may be off in any case.
    """
    found, wanted = np.asarray(found), np.asarray(wanted)
    if found.shape != wanted.shape:
        return f"shape {found.shape}, not {wanted.shape}"
    coarsest = max((10 * float(np.finfo(v.dtype).tiny) for v in (found, wanted) if v.dtype.kind in "fc"), default=0.0)
    wide = np.complex128 if "c" in (found.dtype.kind, wanted.dtype.kind) else np.float64
    with np.errstate(all="ignore"):
        found, wanted = found.astype(wide), wanted.astype(wide)
        size = np.abs(wanted)
        most = np.max(size[np.isfinite(size)], initial=0.0)
        allowed = relative * (size + (0.0 if len(points) else 0.1 * max(1.0, most))) + max(least, 1e-307, coarsest)
        near = (np.abs(found - wanted) <= allowed) & np.isfinite(wanted)
        off = ~near & (found != wanted) & ~(np.isnan(found) & np.isnan(wanted))
    return _told(found, wanted, off, points) if np.any(off) else None


def _told(found: np.ndarray, wanted: np.ndarray, off: np.ndarray, points: Sequence[np.ndarray]) -> str:
    places = [tuple(map(int, i)) for i in np.argwhere(off)]
    shown = []
    for i in places[:4]:
        where = f"({', '.join(f'{p[i]:.6g}' for p in points)})" if len(points) else str(list(i))
        shown.append(f"{where}: {found[i]:.9g}, not {wanted[i]:.9g}")
    return f"{len(places)} of {off.size}: {'; '.join(shown)}"
