"""``x = 0`` followed by ``x += ...`` is a sum that defines ``x``: one fresh reduction."""

from __future__ import annotations

import ast
from dataclasses import replace

from sdgrad.analysis.relations import covers
from sdgrad.normalize.copies import is_identity
from sdgrad.normalize.fuse import drop_stores, injective_by_position
from sdgrad.program.tree import Block, Leaf, Let, Node, Program, Store, children, reads, with_children, writes


def start_fresh(program: Program) -> Program:
    """The program with initialisations folded into the reductions they start."""
    return replace(program, body=fold(program.body, program))


def fold(block: Block, program: Program) -> Block:
    out: list[Node | None] = [with_children(n, tuple(fold(b, program) for b in children(n))) for n in block]
    for k, node in enumerate(out):
        if isinstance(node, Leaf):
            for store in node.stores:
                target = next_use(out, k, store, node, program) if starts(store, node, program) else None
                if target is not None:
                    out[target] = freshen(out[target], store.container)  # type: ignore[arg-type]
                    rest = drop_stores(node, lambda s, dead=store: s is dead)
                    node = out[k] = rest if rest.stores else None
                    if node is None:
                        break
    return tuple(n for n in out if n is not None)


def starts(store: Store, leaf: Leaf, program: Program) -> bool:
    """Whether a store fills a whole container with a constant."""
    return (
        store.mode == "set"
        and number(store, leaf) is not None
        and program.root(store.container) == store.container
        and covers(store, leaf, program.containers[store.container].shape)
    )


def number(store: Store, leaf: Leaf) -> object:
    for let in leaf.lets:
        if let.name == store.value:
            try:
                return ast.literal_eval(_bare(let))
            except (ValueError, SyntaxError):
                return None
    return None


def _bare(let: Let) -> ast.expr:
    """The literal in ``dace.float64(0)``."""
    expr = let.expr
    return expr.args[0] if isinstance(expr, ast.Call) and len(expr.args) == 1 else expr


def next_use(block: list[Node | None], k: int, store: Store, leaf: Leaf, program: Program) -> int | None:
    """The leaf that uses the container next, if all it does with it is a reduction the constant is neutral for."""
    name = store.container
    for j in range(k + 1, len(block)):
        node = block[j]
        if node is None or name not in {program.root(c) for c in reads(node) | writes(node)}:
            continue
        if not isinstance(node, Leaf) or any(program.root(x.container) == name for x in node.loads):
            return None
        mine = [s for s in node.stores if program.root(s.container) == name]
        if len(mine) != 1 or mine[0].container != name or mine[0].mode == "set" or mine[0].fresh or mine[0].guard:
            return None
        dtype = program.containers[name].dtype
        neutral = is_identity(mine[0].mode, number(store, leaf), dtype)
        return j if neutral and covers(mine[0], node, program.containers[name].shape) else None
    return None


def freshen(leaf: Leaf, container: str) -> Leaf:
    """The leaf with its sum into a container as the first; one term for each element is no sum."""

    def first(store: Store) -> Store:
        return replace(store, mode="set") if injective_by_position(store, leaf) else replace(store, fresh=True)

    body = tuple(first(i) if isinstance(i, Store) and i.container == container else i for i in leaf.body)
    return replace(leaf, body=body)
