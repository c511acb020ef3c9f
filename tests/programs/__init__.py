"""The test zoo: small programs of everything a graph can hold.

``PROGRAMS`` lists the NumPy-style ones and ``RAW_PROGRAMS`` the graphs built through DaCe's own
interface; ``select`` picks by tag.
"""

import importlib
import pkgutil

from ._base import Program, _registry, flat, program
from .raw import RAW_PROGRAMS, RawProgram

for _module in pkgutil.iter_modules(__path__):
    if not _module.name.startswith("_") and _module.name not in ("mutable_jax", "raw"):
        importlib.import_module(f"{__name__}.{_module.name}")

PROGRAMS: tuple[Program, ...] = tuple(_registry.values())

__all__ = ["PROGRAMS", "RAW_PROGRAMS", "Program", "RawProgram", "flat", "program", "select"]


def select(*tags: str, without: tuple[str, ...] = ()) -> list[Program]:
    """Programs that carry all of ``tags`` and none of ``without``."""
    return [p for p in PROGRAMS if p.tags.issuperset(tags) and not p.tags.intersection(without)]
