"""Close the regions and functions that have a derivative rule of their own, as single nodes of the program tree.

A region is the block of a :class:`CustomCall`. Once the whole program is known, its operands are computed: what the
block reads before it writes is an input, what it writes an output, and what nothing outside accesses is private.
Differentiation then asks the rule instead of the block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sdgrad.analysis.access_relations import covers
from sdgrad.analysis.footprint import box, reads_of, writes_of
from sdgrad.errors import DifferentiationError, Problem
from sdgrad.program.custom_call import CustomCall, walk_into_calls
from sdgrad.program.custom_rule import names_of, stem
from sdgrad.program.descriptors import lasting
from sdgrad.program.naming import names_in
from sdgrad.program.symbols import assigned_symbols, used_symbols
from sdgrad.program.tree import (
    Block,
    Container,
    Leaf,
    Loop,
    Node,
    Program,
    Region,
    SymbolAssign,
    children,
    local_names,
    map_blocks,
    own_reads,
    reads,
    rewritten,
    walk,
    whole_region,
    writes,
)


def close_calls(program: Program, finish: Callable[[Program], Program]) -> Program:
    """Compute the operands of all custom calls, and bring the block of each into normal form by ``finish``."""
    if not any(isinstance(n, CustomCall) for n in walk(program.body)):
        return program
    containers, around = dict(program.containers), _Around.of(program)

    def close(node: Node) -> Block:
        """Close a call whose operands are not known yet; any other node unchanged."""
        nonlocal program
        if not isinstance(node, CustomCall) or node.outputs:
            return (node,)
        closed, made = _closed(node, program, around, containers, finish)
        containers.update(made)
        program = replace(program, containers=containers)
        return (closed,)

    body = rewritten(program.body, close)
    return replace(program, body=body, containers=containers)


@dataclass(frozen=True)
class _Around:
    """How many nodes of a program use each container and each symbol by themselves: what stands around a call."""

    accessed: Counter[str]
    symbols: Counter[str]

    @staticmethod
    def of(program: Program) -> _Around:
        """Look at all nodes once, however many calls there are."""
        nodes = list(walk(program.body))
        accessed = Counter(name for n in nodes for name in _touched(n))
        return _Around(accessed, Counter(s for n in nodes for s in _own_symbols(n, program)))

    def accesses(self, call: CustomCall) -> set[str]:
        """Return the containers that other nodes than a call access."""
        return set((self.accessed - Counter(_touched(call))).keys())

    def symbols_of(self, call: CustomCall, program: Program) -> set[str]:
        """Return the symbols that other nodes than a call use."""
        return set((self.symbols - Counter(_own_symbols(call, program))).keys())


def _closed(
    call: CustomCall,
    program: Program,
    around: _Around,
    containers: Mapping[str, Container],
    finish: Callable[[Program], Program],
) -> tuple[CustomCall, dict[str, Container]]:
    """Compute the operands of a call and normalize its block. Returns the call, and the containers that are new.

    :raises DifferentiationError: the block assigns a symbol that the program reads after the call.
    """
    outside = _visible_outside(call, program, around)
    inside = {program.root(n) for node in walk_into_calls(call.block) for n in reads(node) | writes(node)}
    local = {c for n in walk(call.block) for c in local_names(n)}
    own = _normal_block(call, program, containers, inside & outside, finish)
    inputs, outputs = _operands(call, own, program, inside, (inside & outside) - local)
    inputs = {**_asked_for(call, program), **inputs}
    _refuse_escaping_symbols(call, own, program, around)
    closed = replace(
        call,
        inputs=inputs,
        outputs=outputs,
        block=own.body,
        containers=_private_containers(own, outside, local),
        mentioned=_free_symbols(own),
    )
    return closed, {n: c for n, c in own.containers.items() if n not in program.containers}


def _visible_outside(call: CustomCall, program: Program, around: _Around) -> set[str]:
    """Return the containers visible outside of a call: arguments, variables of the rule, other accesses."""
    variables = {program.root(o.window.container) for o in call.variables.values()}
    return {program.root(n) for n in around.accesses(call)} | variables | set(program.arguments)


def _normal_block(
    call: CustomCall,
    program: Program,
    containers: Mapping[str, Container],
    shared: set[str],
    finish: Callable[[Program], Program],
) -> Program:
    """Bring the block of a call into normal form, as a program whose arguments are the shared containers."""
    own = {n: replace(c, desc=lasting(c.desc, False)) if n in shared else c for n, c in containers.items()}
    return finish(replace(program, containers=own, body=call.block, arguments=tuple(sorted(shared))))


def _operands(
    call: CustomCall, own: Program, program: Program, inside: set[str], shared: set[str]
) -> tuple[dict[str, Region], dict[str, Region]]:
    """Return the regions that a call reads and writes: the bounding boxes of the accesses of its block.

    A write whose elements are not known exactly counts as an update of the whole container.
    """
    touched = writes_of(own.body, own), reads_of(own.body, own)
    inputs: dict[str, Region] = {}
    results = sorted(_results(call) & inside)
    outputs: dict[str, Region] = {n: whole_region(n, program.containers[n].shape) for n in results}
    for name in sorted(shared - outputs.keys()):
        container = program.containers[name]
        written, read = ([t for t in found if t.container == name] for found in touched)
        if written:
            outputs[name], exact = box(written, container)
            if not exact:
                inputs[name] = outputs[name] = whole_region(name, container.shape)
        if read and name not in inputs and not _defined_first(name, own):
            inputs[name], _ = box(read, container)
    return inputs, outputs


def _asked_for(call: CustomCall, program: Program) -> dict[str, Region]:
    """Return the variables that the functions of a rule are about, whether the block reads them or not.

    A function that computes its value without an argument may have a derivative by it (a straight-through estimator).
    """
    if call.rule is None:
        return {}
    parameters = [stem(p) for function in call.rule.functions for p in names_of(function)]
    names = {call.rule.spelled(name) for prefix, name in parameters if not prefix}
    names |= set(call.rule.parameters or ()) if parameters else set()
    roots = {program.root(call.variables[n].window.container) for n in names & call.variables.keys()}
    return {n: whole_region(n, program.containers[n].shape) for n in sorted(roots - _written_in(call, program))}


def _written_in(call: CustomCall, program: Program) -> set[str]:
    return {program.root(n) for node in call.block for n in writes(node)}


def _private_containers(own: Program, outside: set[str], local: set[str]) -> dict[str, Container]:
    """Return the containers of a closed block that nothing outside accesses, and its views."""
    used = {n for node in own.body for n in reads(node) | writes(node)} | local
    return {n: c for n, c in own.containers.items() if n in used and (own.root(n) not in outside or c.view_of)}


def _free_symbols(own: Program) -> frozenset[str]:
    """Return the symbols that a closed block reads and does not define."""
    assigned = {n.symbol for n in walk(own.body) if isinstance(n, (Loop, SymbolAssign))}
    return frozenset({s for node in own.body for s in used_symbols(node, own)} - assigned - names_in(own.body))


def _refuse_escaping_symbols(call: CustomCall, own: Program, program: Program, around: _Around) -> None:
    """Refuse a block that assigns a symbol which the rest of the program uses.

    :raises DifferentiationError: there is such a symbol.
    """
    assigned = assigned_symbols(own.body)
    lost = sorted(around.symbols_of(call, program) & assigned) if assigned else []
    if lost:
        name = call.rule.name if call.rule is not None else ""
        message = f"assigns {', '.join(lost)}, which is used after it"
        hint = "put what uses it into the region, or the assignment before it"
        raise DifferentiationError([Problem(f"region '{name}'", message, str(call.source), hint)])


def _results(call: CustomCall) -> set[str]:
    """Return the result containers of an operator with an adjoint of its own: their former content is dead."""
    if call.rule is None or call.rule.adjoint is None:
        return set()
    return {call.variables[n].window.container for n in call.rule.results if n in call.variables}


def _touched(node: Node) -> set[str]:
    """Return the containers that a node accesses by itself, in a call with all that it holds."""
    if isinstance(node, CustomCall):
        return {c for inner in walk_into_calls(node.block) for c in reads(inner) | writes(inner)}
    return own_reads(node) if children(node) else reads(node) | writes(node)


def _own_symbols(node: Node, program: Program) -> set[str]:
    """Return the symbols that a node uses by itself."""
    return used_symbols(map_blocks(node, lambda _: ()), program)


def _defined_first(name: str, program: Program) -> bool:
    """True if a block overwrites a whole container before it reads any element."""
    for node in program.body:
        if not isinstance(node, Leaf) and name in reads(node) | writes(node):
            return False
        if isinstance(node, Leaf):
            if name in reads(node):
                return False
            stores = [s for s in node.stores if s.container == name]
            if any(s.guard is None and covers(s, node, program.containers[name].shape) for s in stores):
                return True
            if stores:
                return False
    return False
