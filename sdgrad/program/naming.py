"""The names a program uses."""

from __future__ import annotations

from sdgrad.names import Names
from sdgrad.program.tree import Program, local_names, walk


def all_names(program: Program) -> Names:
    """Every name the program uses, so that new ones are new."""
    taken = {*program.containers, *program.symbols, *program.constants}
    for node in walk(program.body):
        taken |= local_names(node) | {p.name for p in getattr(node, "params", ())}
        taken |= {i.name for i in getattr(node, "body", ()) if hasattr(i, "name")}
    return Names(taken)
