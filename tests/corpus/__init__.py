"""Programs whose gradients were once wrong, each in a few lines. They are checked like those of the zoo."""

from programs import Program
from programs._base import _registry

from . import branches, doors, functions, guards, loops, names, parts, precisions, scopes, selection, tapes  # noqa: F401

CORPUS: tuple[Program, ...] = tuple(p for p in _registry.values() if p.function.__module__.startswith(__name__))

__all__ = ["CORPUS"]
