"""Inline one program into another: rename its containers, bind its arguments."""

from __future__ import annotations

from collections.abc import Mapping

from sdgrad.program.custom_call import CustomCall, walk_inside
from sdgrad.program.names import Names
from sdgrad.program.rename import renamed, renamed_container
from sdgrad.program.tree import Block, Container, Loop, Program, SymbolAssign
from sdgrad.program.window import Window
from sdgrad.symbolic.expr import Expr, sym


def inline(
    program: Program, bound: Mapping[str, str | Window], names: Names, given: Mapping[str, Expr] | None = None
) -> tuple[Block, dict[str, Container]]:
    """Return a program's body over the host's names, and the containers it brings, by their names in the program.

    ``bound`` maps its arguments to containers of the host, or to parts of them, and ``given`` its free symbols to
    expressions; everything else gets a fresh name.
    """
    own = [n for n in program.containers if n not in bound]
    fresh = {n: names.fresh(n.replace("__return", "returned")) for n in own}  # DaCe reserves the prefix
    nodes = list(walk_inside(program.body))
    inner = [c for n in nodes if isinstance(n, CustomCall) for c in n.containers if c not in program.containers]
    places = {**bound, **fresh, **{n: names.fresh(n) for n in inner}}
    symbols: dict[str, Expr] = dict(given or {})
    symbols |= {s: sym(names.fresh(s)) for n in nodes if isinstance(n, (SymbolAssign, Loop)) for s in [n.symbol]}
    brought = {}
    for name in own:
        brought[name] = renamed_container(program.containers[name], places, symbols)
        brought[name].desc.transient = True
    return renamed(program.body, places, symbols), brought
