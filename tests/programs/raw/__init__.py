"""Raw graphs: what the Python frontend never makes, or makes only together with other things."""

from . import maps, nested, nodes, states, tasklets  # noqa: F401
from ._base import RawProgram, registry

RAW_PROGRAMS: tuple[RawProgram, ...] = tuple(registry.values())

__all__ = ["RAW_PROGRAMS", "RawProgram"]
