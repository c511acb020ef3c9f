"""Skew a sum into overlapping windows, so that each element is summed up by one iteration.

The adjoint of a long convolution adds a short row to each of many windows, one pass over memory for each tap. With the
element that is added to as the parameter, all that goes to one element is a sum in a register. ::

    map i=0:n, k=0:m:              map j=m - 1:n:
      g = y'[i]                      for k=0:m:
      w = v[k]                         g = y'[j - k]
      t = g * w                        w = v[k]
      x'[i + k] += t                   t = g * w
                                       x'[j] += t

In the interior all taps exist; the two ends are nests of their own, with fewer taps. Declined are few taps, which a
stencil's gather form serves, few windows, and values that are not neighbours in memory along the taps. (Wolfe, Loop
Skewing: The Wavefront Method Revisited, 1986.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import sympy

from sdgrad.config import config
from sdgrad.optimize.locality.strides import known_trips, steps
from sdgrad.program.leaves import live, rename_instr
from sdgrad.program.names import Names
from sdgrad.program.naming import all_names
from sdgrad.program.tree import Expr, Leaf, Load, Node, Param, Program, Store, rewritten
from sdgrad.rewrite.dead_code import drop_stores
from sdgrad.symbolic.expr import free_names, sym


@dataclass(frozen=True)
class Skew:
    """A sum into overlapping windows: ``target[.., sign*window + turn*tap + rest, ..] += value``."""

    store: Store
    dim: int
    window: Param
    tap: Param
    sign: int
    turn: int
    rest: Expr


def skew_windows(program: Program) -> Program:
    """Let each element of overlapping windows be summed up by one iteration."""
    names = all_names(program)

    def change(node: Node) -> tuple[Node, ...]:
        if not isinstance(node, Leaf) or node.sequential or len(node.params) < 2:
            return (node,)
        found = [s for store in node.stores if (s := skew(store, node, program)) is not None]
        left = drop_stores(node, lambda store: any(store is s.store for s in found)) if found else node
        return (*(n for s in found for n in skewed(s, node, names)), *([left] if left.stores else []))

    return replace(program, body=rewritten(program.body, change))


def skew(store: Store, leaf: Leaf, program: Program) -> Skew | None:
    """Describe a sum into overlapping windows; None if it is none, or if skewing does not pay."""
    if store.mode != "sum" or store.guard is not None or store.index_names & leaf.defined:
        return None
    others: list[Load | Store] = [*leaf.loads, *(s for s in leaf.stores if s is not store)]
    if program.root(store.container) in {program.root(x.container) for x in others}:
        return None
    params = {p.name: p for p in leaf.params}
    for dim, place in enumerate(store.index):
        own = sorted((params[n] for n in free_names(place) & params.keys()), key=known_trips)
        if len(own) == 2 and _is_long(*own) and _are_apart(own, dim, store, leaf):
            tap, window = own
            sign, turn = (sympy.expand(place).coeff(sym(p.name)) for p in (window, tap))
            rest = sympy.expand(place - sign * sym(window.name) - turn * sym(tap.name))
            if {abs(sign), abs(turn)} == {1} and not free_names(rest) & params.keys():
                found = Skew(store, dim, window, tap, int(sign), int(turn), rest)
                return found if _walks_rows(found, leaf, program) else None
    return None


def _is_long(tap: Param, window: Param) -> bool:
    return config.machine.skewed_taps <= known_trips(tap) <= known_trips(window) / 4 and tap.step == window.step == 1


def _are_apart(own: list[Param], dim: int, store: Store, leaf: Leaf) -> bool:
    """True if two parameters are in one dimension only, and no loop bound depends on another one."""
    elsewhere = free_names(*(e for d, e in enumerate(store.index) if d != dim))
    bounds = free_names(*(b for p in leaf.params for b in (p.start, p.stop, p.step)))
    return not elsewhere & {p.name for p in own} and not bounds & {p.name for p in leaf.params}


def _walks_rows(s: Skew, leaf: Leaf, program: Program) -> bool:
    """True if all that is read along the taps of one element is one number, or are neighbours in memory."""
    place = {s.window.name: _window(s, sym(s.window.name))}
    loads = [rename_instr(x, {}, place) for x in leaf.loads]
    return all(steps(x, s.tap, program) in (None, 0, 1, -1) for x in loads if isinstance(x, Load))


def _window(s: Skew, element: Expr) -> Expr:
    """Return the window that a tap adds to an element from."""
    return s.sign * (element - s.turn * sym(s.tap.name) - s.rest)


def skewed(s: Skew, leaf: Leaf, names: Names) -> Iterator[Leaf]:
    """Yield the nests of the two ends and of the interior."""
    name = names.fresh("element")
    element = sym(name)
    index = tuple(element if d == s.dim else e for d, e in enumerate(s.store.index))
    body = live((i for i in leaf.body if not isinstance(i, Store) or i is s.store), set())
    moved = tuple(rename_instr(i, {}, {s.window.name: _window(s, element)}) for i in body if i is not s.store)
    others = tuple(p for p in leaf.params if p not in (s.window, s.tap))
    for begin, end, tap in _parts(s, element):
        params = (*others, Param(name, begin, end, sympy.Integer(1)), tap)
        yield replace(leaf, params=params, body=(*moved, replace(s.store, index=index)))


def _parts(s: Skew, element: Expr) -> Iterator[tuple[Expr, Expr, Param]]:
    """Yield ranges of elements, each with the taps that reach them."""
    low, high = (s.rest + end for end in _ends(s.window, s.sign))
    near, far = _ends(s.tap, s.turn)
    for begin, end, taps in (
        (low + near, low + far - 1, (near, element - low)),
        (low + far, high + near, (near, far)),
        (high + near + 1, high + far, (element - high, far)),
    ):
        start, stop = taps if s.turn > 0 else (-taps[1], -taps[0])
        yield begin, end, replace(s.tap, start=sympy.expand(start), stop=sympy.expand(stop))


def _ends(param: Param, sign: int) -> tuple[Expr, Expr]:
    """Return the least and the largest value of a parameter times a sign."""
    return (param.start, param.stop) if sign > 0 else (-param.stop, -param.start)
