"""Keep the values of functions that take much longer than memory in an array, if two nests compute the same ones.

A tape keeps nothing that a nest of the derivative can compute again from what it reads. Of a power with any exponent,
or of a function of SciPy's, that takes longer than all else the nest does. Of least squares for the coefficients of a
polynomial, say::

    map i, k: r[i] += t[i] ** k * x[k]         map i, k: p[i, k] = t[i] ** k
                                               map i, k: r[i] += p[i, k] * x[k]
    map i, k: g[k] += t[i] ** k * s[i]         map i, k: g[k] += p[i, k] * s[i]

What is left are products with a matrix, which BLAS computes. The pass declines for large arrays, if what a value is
computed from changes between the nests, and where the second one sets elements: these are room for its values
(:mod:`~sdgrad.optimize.dataflow.function_reuse`). With a limit of memory it does not run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace

import dace
import sympy
from dace import data as dt

from sdgrad.optimize.dataflow.function_reuse import REAL, Numbers, same_instances, without_value
from sdgrad.program.kinds import infer
from sdgrad.program.leaves import slice_for
from sdgrad.program.names import Names
from sdgrad.program.prelude import SPECIAL_FUNCTIONS
from sdgrad.program.symbols import assigned_symbols
from sdgrad.program.tree import Block, Container, Instr, Leaf, Let, Load, Program, Store, map_blocks, writes
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import sym

LARGEST = 1 << 26
"""Bytes of an array at most."""
GAMMA = frozenset({"tgamma", "lgamma"})
WHOLE = frozenset(dace.dtypes.INTEGER_TYPES)


def keep_functions(program: Program, names: Names) -> Program:
    """Let nests leave the values of slow functions for later ones in arrays of their own."""
    made: dict[str, Container] = {}
    body = _block(program.body, Keeping(program, names, made))
    return replace(program, body=body, containers={**program.containers, **made}) if made else program


class Keeping:
    """A program in which nests keep values.

    :param made: the arrays for them.
    """

    def __init__(self, program: Program, names: Names, made: dict[str, Container]) -> None:
        self.program, self.names, self.made, self.numbers = program, names, made, Numbers()

    def shared(self, earlier: Leaf, later: Leaf) -> tuple[str, str] | None:
        """Return a slow value of two nests by its names in both; None if there is none."""
        has_room = any(s.mode == "set" for s in later.stores)  # for function_reuse, which takes no memory
        if has_room or earlier.sequential or not same_instances(earlier, later) or _bytes(later) > LARGEST:
            return None
        known = self.numbers.of(earlier).names
        common = {name: known[n] for n, name in self.numbers.of(later).slow.items() if n in known}
        kinds = infer(later.body, self.program.containers) if common else {}
        best, least = None, very_slow_calls(later.body)
        for name, value in common.items():
            left = very_slow_calls(without_value(later, name))
            if left < least and kinds.get(name) == "float" and self.types(later, name) <= {*REAL, *WHOLE}:
                best, least = (value, name), left
        return best

    def types(self, leaf: Leaf, name: str) -> set[dace.typeclass]:
        """Return the types of what a value is computed from."""
        return {self.program.containers[x.container].dtype for x in _sources(leaf, name)}

    def kept(self, earlier: Leaf, later: Leaf, value: str, name: str) -> tuple[Leaf, Leaf]:
        """Return both nests, of which the first leaves a value in an array and the second reads it."""
        array = self.names.fresh(f"kept_{name}")
        dtype = dace.float32 if self.types(later, name) == {dace.float32} else dace.float64
        self.made[array] = Container(array, dt.Array(dtype, [p.count for p in later.params], transient=True))
        store, load = (
            tuple(sympy.expand(sym(p.name) - q.start) for p, q in zip(leaf.params, later.params, strict=True))
            for leaf in (earlier, later)
        )
        body = (Load(name, array, load), *without_value(later, name))
        return replace(earlier, body=(*earlier.body, Store(array, store, value))), replace(later, body=body)


def _block(block: Block, keeping: Keeping) -> Block:
    nodes = [map_blocks(n, lambda b: _block(b, keeping)) for n in block]
    if sum(isinstance(n, Leaf) and very_slow_calls(n.body) > 0 for n in nodes) < 2:
        return tuple(nodes)
    for k, later in enumerate(nodes):
        if not isinstance(later, Leaf) or not later.params or not very_slow_calls(later.body):
            continue
        changed: set[str] = set()
        for j in range(k - 1, -1, -1):
            earlier = nodes[j]
            changed |= {keeping.program.root(n) for n in writes(earlier)}
            if assigned_symbols((earlier,)):
                break
            found = keeping.shared(earlier, later) if isinstance(earlier, Leaf) else None
            if found is None or changed & {keeping.program.root(x.container) for x in _sources(later, found[1])}:
                continue
            assert isinstance(earlier, Leaf)
            nodes[j], nodes[k] = keeping.kept(earlier, later, *found)
            break
    return tuple(nodes)


def _sources(leaf: Leaf, name: str) -> list[Load]:
    """Return what a value is computed from."""
    return [i for i in slice_for(leaf.body, {name}) if isinstance(i, Load)]


def _bytes(leaf: Leaf) -> int:
    """Return the bytes of one real number for each instance; more than are kept if nobody knows how many there are."""
    size = sympy.Mul(*(p.count for p in leaf.params))
    return int(size) * 8 if size.is_Integer and all(p.step == 1 for p in leaf.params) else LARGEST + 1


def very_slow_calls(body: Iterable[Instr]) -> int:
    """Count the functions that take much longer than memory: powers with any exponent, and those of SciPy's."""
    return sum(_is_very_slow(part) for i in body if isinstance(i, Let) for part in i.parts)


def _is_very_slow(part: ast.AST) -> bool:
    if isinstance(part, ast.Call):
        return code.callee(part).startswith(SPECIAL_FUNCTIONS) or code.callee(part) in GAMMA
    return isinstance(part, ast.BinOp) and isinstance(part.op, ast.Pow) and code.number_of(part.right) is None
