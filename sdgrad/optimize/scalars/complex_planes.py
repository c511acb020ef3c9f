"""Complex temporaries as two real ones: real parts side by side, and imaginary parts.

A compiler computes in lanes what it reads from memory in lanes. Of complex numbers it would have to sort the parts
first, and where one is copied as a whole it does not see parts at all.
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
Planes = Mapping[str, tuple[str, str]]  # containers of the parts, by that of the numbers


def planes_of(program: Program, names: Names) -> tuple[dict[str, tuple[str, str]], dict[str, Container]]:
    """Containers that may be taken apart, with the names of their parts, and all containers of the program then."""
    viewed = {c.view_of for c in program.containers.values()}
    found = {
        n
        for n, c in program.containers.items()
        if c.dtype in PARTS and c.view_of is None and n not in viewed and n not in program.arguments and c.transient
    }
    for node in walk(program.body):
        if isinstance(node, Leaf):
            found -= {s.container for s in node.stores if s.mode not in ("set", "sum")}
        else:
            found -= {*local_names(node), *(own_reads(node) if children(node) else reads(node) | writes(node))}
    planes = {n: (names.fresh(f"{n}_re"), names.fresh(f"{n}_im")) for n in sorted(found)}
    containers: dict[str, Container] = {}
    for name, container in program.containers.items():
        for own in planes.get(name, (name,)):
            containers[own] = container if own == name else _part(container, own)
    return planes, containers


def _part(container: Container, name: str) -> Container:
    desc = copy.deepcopy(container.desc)
    desc.dtype = PARTS[container.dtype]
    return replace(container, name=name, desc=desc)


def loaded(load: Load, planes: Planes, names: Names) -> tuple[Load, Load]:
    """The loads of both parts of a number."""
    re, im = planes[load.container]
    return (
        replace(load, name=names.fresh(f"{load.name}_re"), container=re),
        replace(load, name=names.fresh(f"{load.name}_im"), container=im),
    )


def stored(store: Store, planes: Planes, values: tuple[str, str]) -> tuple[Store, Store]:
    """The stores of both parts of a number."""
    re, im = planes[store.container]
    return replace(store, container=re, value=values[0]), replace(store, container=im, value=values[1])
