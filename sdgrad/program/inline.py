"""Inline one program into another: rename its containers, bind its arguments."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sdgrad.program.custom_call import CustomCall, walk_into_calls
from sdgrad.program.distinct import with_values_apart
from sdgrad.program.names import Names
from sdgrad.program.rename import renamed, renamed_container
from sdgrad.program.tree import Block, Container, Leaf, Loop, Program, Scope, SymbolAssign
from sdgrad.program.window import Window
from sdgrad.symbolic.expr import Expr, free_names, sym


def inline(
    program: Program,
    bound: Mapping[str, str | Window],
    names: Names,
    given: Mapping[str, Expr] | None = None,
    of_host: Collection[str] | None = None,
) -> tuple[Block, dict[str, Container]]:
    """Return a program's body over the host's names, and the containers it brings, by their names in the program.

    ``bound`` maps its arguments to containers of the host, or to parts of them, and ``given`` its free symbols to
    expressions; containers and symbols get fresh names, and so do values and parameters that are named like symbols of
    the host: a later pass may put both in one leaf.

    :param of_host: the host's symbols and parameters; None if they are not told from its other names.
    """
    own = [n for n in program.containers if n not in bound]
    nodes = list(walk_into_calls(program.body))
    inner = [n for call in nodes if isinstance(call, CustomCall) for n in call.containers if n not in bound]
    fresh = {n: names.fresh(n.replace("__return", "returned")) for n in [*own, *inner]}  # DaCe reserves the prefix
    places = {**bound, **fresh}
    symbols: dict[str, Expr] = dict(given or {})
    symbols |= {s: sym(names.fresh(s)) for n in nodes if isinstance(n, (SymbolAssign, Loop)) for s in [n.symbol]}
    brought = {}
    for name in own:
        brought[name] = renamed_container(program.containers[name], places, symbols)
        brought[name].desc.transient = True
    outside = free_names(*(n for w in bound.values() if isinstance(w, Window) for n in w.extents), *symbols.values())
    params = {p.name for n in nodes if isinstance(n, (Leaf, Scope)) for p in n.params}
    values = {v for n in nodes if isinstance(n, Leaf) for v in n.defined}
    taken = {n for n in params | values if n in (names if of_host is None else of_host)} | outside
    names.add(params | values)
    symbols |= {p: sym(names.fresh(p)) for p in params & taken}
    body = with_values_apart(program.body, taken, names) if values & taken else program.body
    return renamed(body, places, symbols), brought
