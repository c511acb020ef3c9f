"""Store complex temporaries as two real arrays, their planes: one of real parts, one of imaginary parts.

Compilers vectorize loops over contiguous real numbers. In an array of complex numbers the parts alternate, so that
vector code would have to sort them first (structure of arrays instead of array of structures).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace

import dace

from sdgrad.program.names import Names
from sdgrad.program.tree import (
    Container,
    Leaf,
    Load,
    Node,
    Program,
    Store,
    children,
    local_names,
    own_reads,
    reads,
    walk,
    writes,
)

PARTS = {dace.complex64: dace.float32, dace.complex128: dace.float64}
"""Type of the parts of each complex type."""

Planes = Mapping[str, tuple[str, str]]
"""Containers of the real and the imaginary parts, by the container of the complex numbers."""


def planes_of(program: Program, names: Names) -> tuple[dict[str, tuple[str, str]], dict[str, Container]]:
    """Return the planes of all complex temporaries that can have them, and the program's containers with planes."""
    found = _complex_temporaries(program)
    for node in walk(program.body):
        found -= _kept_whole(node)
    planes = {n: (names.fresh(f"{n}_re"), names.fresh(f"{n}_im")) for n in sorted(found)}
    containers: dict[str, Container] = {}
    for name, container in program.containers.items():
        for own in planes.get(name, (name,)):
            containers[own] = container if own == name else _part(container, own)
    return planes, containers


def _complex_temporaries(program: Program) -> set[str]:
    """Return the complex temporaries without views."""
    viewed = {c.view_of for c in program.containers.values()}

    def own(container: Container) -> bool:
        return container.transient and container.view_of is None

    found = {n for n, c in program.containers.items() if c.dtype in PARTS and own(c)}
    return found - viewed - set(program.arguments)


def _kept_whole(node: Node) -> set[str]:
    """Return the containers that a node needs as complex numbers: its own ones, operands, products and extremes."""
    if isinstance(node, Leaf):
        return {s.container for s in node.stores if s.mode not in ("set", "sum")}
    return local_names(node) | (own_reads(node) if children(node) else reads(node) | writes(node))


def _part(container: Container, name: str) -> Container:
    """Return a container of the same shape for one of the parts."""
    desc = copy.deepcopy(container.desc)
    desc.dtype = PARTS[container.dtype]
    return replace(container, name=name, desc=desc)


def loaded(load: Load, planes: Planes, names: Names) -> tuple[Load, Load]:
    """Return the loads of both parts of a number."""
    re, im = planes[load.container]
    return (
        replace(load, name=names.fresh(f"{load.name}_re"), container=re),
        replace(load, name=names.fresh(f"{load.name}_im"), container=im),
    )


def stored(store: Store, planes: Planes, values: tuple[str, str]) -> tuple[Store, Store]:
    """Return the stores of both parts of a number."""
    re, im = planes[store.container]
    return replace(store, container=re, value=values[0]), replace(store, container=im, value=values[1])
