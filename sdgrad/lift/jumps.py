"""Replace ``break``, ``continue`` and early ``return`` by flags and conditions.

``if c: continue`` followed by more becomes ``if c: ... else: more``. Where several paths lead on, a flag tells that one
of them jumped, and what follows runs if the flag is clear. A loop that may be left also stops on its flag.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

import dace
from dace import data as dt

from sdgrad.lift.views import Env
from sdgrad.program.leaves import set_scalar
from sdgrad.program.tree import (
    SCALAR,
    Block,
    Branch,
    Leaf,
    Load,
    Loop,
    Node,
    Scope,
    Source,
    Value,
    children,
    map_blocks,
    walk,
)
from sdgrad.symbolic import code


@dataclass(frozen=True)
class Jump:
    """``break``, ``continue`` or ``return``, before it becomes flags and conditions."""

    kind: str
    source: Source = Source()


@dataclass
class Flags:
    """The flags of a loop or program, each declared at the first jump that needs it."""

    env: Env
    names: dict[str, str] = field(default_factory=dict)

    def of(self, kind: str) -> str:
        """Return the container of a flag."""
        if kind not in self.names:
            container = self.env.declare(f"{kind}_flag", dt.Scalar(dace.int32, transient=True))
            self.names[kind] = container.name
        return self.names[kind]


def without_jumps(block: Block, env: Env) -> Block:
    """Replace the jumps in the body of a (nested) program by flags and conditions."""
    if not any(isinstance(n, Jump) for n in walk(block)):
        return block
    returns = Flags(env)
    body = _block(block, returns, returns)
    return tuple(set_flag(f, 0) for f in returns.names.values()) + body


def set_flag(flag: str, value: int) -> Leaf:
    """Set or clear a flag."""
    return set_scalar(flag, Value((), code.constant(value)), f"v_{flag}", Source(label=flag))


def is_down(flags: list[str]) -> Value:
    """Return the condition that no flag is set."""
    loads = tuple(Load(f"v_{f}", f, SCALAR) for f in flags)
    tests: list[ast.expr] = [code.parse(f"{x.name} == 0") for x in loads]
    return Value(loads, tests[0] if len(tests) == 1 else ast.BoolOp(op=ast.And(), values=tests))


def _jumps(node: Node | Jump, kinds: frozenset[str] = frozenset({"break", "continue", "return"})) -> set[str]:
    """Return the kinds of jumps that may leave a node."""
    if isinstance(node, Jump):
        return {node.kind} & kinds
    inner = kinds & {"return"} if isinstance(node, Loop) else kinds
    return {k for block in children(node) for n in block for k in _jumps(n, inner)}


def _block(block: Block, loop: Flags, returns: Flags) -> Block:
    """Replace the jumps of a block: what follows a node that may jump runs if the flags are clear."""
    out: list[Node] = []
    for k, node in enumerate(block):
        if isinstance(node, Jump):
            return (*out, set_flag((returns if node.kind == "return" else loop).of(node.kind), 1))
        kinds = _jumps(node)
        rest = block[k + 1 :]
        if isinstance(node, Branch) and rest and _one_way_on(node):
            return (*out, *_node(_with_rest(node, rest), loop, returns))
        out += _node(node, loop, returns)
        if kinds and rest:
            flags = [(returns if kind == "return" else loop).of(kind) for kind in sorted(kinds)]
            inner = _block(rest, loop, returns)
            return (*out, Branch(((is_down(flags), inner),), getattr(node, "source", Source())))
    return tuple(out)


def _ends(block: Block) -> bool:
    """True if every path through a block jumps."""
    last = block[-1] if block else None
    if isinstance(last, Jump):
        return True
    return isinstance(last, Branch) and last.arms[-1][0] is None and all(_ends(b) for _, b in last.arms)


def _one_way_on(branch: Branch) -> bool:
    """True if exactly one arm goes on, without jumps, and all others always jump."""
    arms = [b for _, b in branch.arms] + ([()] if branch.arms[-1][0] is not None else [])
    ending = [b for b in arms if _ends(b)]
    others = [b for b in arms if not _ends(b)]
    return bool(ending) and len(others) == 1 and not any(_jumps(n) for b in others for n in b)


def _with_rest(branch: Branch, rest: Block) -> Branch:
    """Move what follows a branch to the end of the arm that goes on."""
    arms = branch.arms if branch.arms[-1][0] is None else (*branch.arms, (None, ()))
    return replace(branch, arms=tuple((c, b if _ends(b) else b + rest) for c, b in arms))


def _node(node: Node, loop: Flags, returns: Flags) -> Block:
    """Replace the jumps inside a node."""
    if isinstance(node, Loop):
        return _loop(node, returns)
    if isinstance(node, Scope):
        inner = Flags(returns.env)
        body = _block(node.body, inner, inner)
        return (replace(node, body=tuple(set_flag(f, 0) for f in inner.names.values()) + body),)
    return (map_blocks(node, lambda b: _block(b, loop, returns)),)


def _loop(node: Loop, returns: Flags) -> Block:
    """Replace the jumps of a loop body. Flags are cleared at each iteration; a loop that was left stops."""
    kinds = {k for n in node.body for k in _jumps(n)}
    own = Flags(returns.env)
    body = _block(node.body, own, returns)
    down = tuple(set_flag(own.names[k], 0) for k in ("continue",) if k in own.names)
    body = down + body
    leaving = [own.names["break"]] if "break" in own.names else []
    leaving += [returns.of("return")] if "return" in kinds else []
    if not leaving:
        return (replace(node, body=body),)
    going = is_down(leaving)
    if node.also is not None:
        both = ast.BoolOp(op=ast.And(), values=[going.expr, node.also.expr])
        going = Value(going.loads + node.also.loads, both)
    first = (set_flag(own.names["break"], 0),) if "break" in own.names else ()
    return (*first, replace(node, also=going, body=body))


__all__ = ["Jump", "without_jumps"]
