"""Infer the kind of number (boolean, integer, real, complex) that containers and local names hold."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import lru_cache

import dace

from sdgrad.program.tree import Container, Instr, Let, Load
from sdgrad.symbolic.code import callee
from sdgrad.symbolic.kinds import expression


@lru_cache(maxsize=256)
def kind_of(dtype: dace.typeclass) -> str:
    """Return the kind of a container's elements."""
    if dtype == dace.bool_:
        return "bool"
    if dtype in (dace.complex64, dace.complex128):
        return "complex"
    return "int" if dtype in dace.dtypes.INTEGER_TYPES else "float"


def infer(body: Iterable[Instr], containers: Mapping[str, Container]) -> dict[str, str]:
    """Return the kind of every name that loads and lets define."""
    kinds: dict[str, str] = {}
    for instr in body:
        if isinstance(instr, Load):
            kinds[instr.name] = kind_of(containers[instr.container].dtype)
        elif isinstance(instr, Let):
            kinds[instr.name] = expression(instr.expr, kinds)
    return kinds


def complex_type(body: Iterable[Instr], containers: Mapping[str, Container]) -> str:
    """Return the complex type that straight-line code computes in."""
    body = tuple(body)
    found = {containers[i.container].dtype for i in body if hasattr(i, "container")}
    casts = {callee(e) for i in body if isinstance(i, Let) for e in i.parts if isinstance(e, ast.Call)}
    if dace.complex128 in found or "complex128" in casts:
        return "dace.complex128"
    single = "complex64" in casts or (dace.complex64 in found and dace.float64 not in found)
    return "dace.complex64" if single else "dace.complex128"
