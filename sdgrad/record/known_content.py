"""Write the content of known arrays into a program that took them as arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import sympy

from sdgrad.program.descriptors import lasting
from sdgrad.program.naming import all_names
from sdgrad.program.tree import Container, Leaf, Let, Program, Source, Store
from sdgrad.record.elements import element


def with_content(program: Program, content: Mapping[str, np.ndarray]) -> Program:
    """Return a program that writes the elements of some of its arguments itself, before all else."""
    known = {n: a for n, a in content.items() if n in program.arguments}
    own = {n: _transient(program.containers[n]) for n in known}
    local = all_names(program).fresh("known")
    written = (leaf for n, a in known.items() for leaf in _elements(n, a, local))
    return replace(
        program,
        body=(*written, *program.body),
        containers={**program.containers, **own},
        arguments=tuple(n for n in program.arguments if n not in known),
    )


def _transient(container: Container) -> Container:
    return replace(container, desc=lasting(container.desc, True))


def _elements(name: str, array: np.ndarray, local: str) -> Iterator[Leaf]:
    for place in np.ndindex(array.shape) if array.shape else [(0,)]:
        value = element(array[place] if array.shape else array[()], array.dtype)
        index = tuple(sympy.Integer(i) for i in place)
        yield Leaf((), (Let(local, value.code), Store(name, index, local)), Source(label="known content"))
