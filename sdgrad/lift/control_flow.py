"""Read the control flow of an SDFG into a program tree.

States, loops, conditionals and nested regions become blocks, :class:`Loop` and :class:`Branch` nodes. A loop with a
start, a stop and a step stays a counted loop; any other becomes one that runs while a condition holds. Control flow
without structure is refused.
"""

from __future__ import annotations

import ast

import dace
import sympy
from dace import data as dt
from dace import nodes as nd
from dace import symbolic
from dace.sdfg.state import (
    BreakBlock,
    ConditionalBlock,
    ContinueBlock,
    ControlFlowBlock,
    ControlFlowRegion,
    LoopRegion,
    NamedRegion,
    ReturnBlock,
    SDFGState,
)
from dace.transformation.passes.analysis import loop_analysis

from sdgrad.errors import DifferentiationError, Problem, UnsupportedNode
from sdgrad.lift.communication import begin_communications
from sdgrad.lift.data_access import source_of
from sdgrad.lift.interstate import carry, joins, lift_assignment, lift_value, reload, resize
from sdgrad.lift.jumps import Jump, set_flag, without_jumps
from sdgrad.lift.loop_directions import constant, direction_of_condition, trips
from sdgrad.lift.states import StateLifting
from sdgrad.lift.symbol_liveness import live_symbols
from sdgrad.lift.views import Env
from sdgrad.program.names import Names
from sdgrad.program.tree import (
    SCALAR,
    Block,
    Branch,
    Load,
    Loop,
    Node,
    Program,
    Source,
    SymbolAssign,
    Value,
    walk,
)
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import Expr, free_names, sym

CPP_KEYWORDS = {
    "alignas", "alignof", "and_eq", "asm", "atomic_cancel", "auto", "bitand", "bitor", "catch", "char", "class",
    "compl", "concept", "const", "constexpr", "decltype", "default", "delete", "do", "double", "dynamic_cast",
    "enum", "explicit", "export", "extern", "float", "friend", "goto", "inline", "int", "long", "mutable",
    "namespace", "new", "noexcept", "not_eq", "operator", "or_eq", "private", "protected", "public", "register",
    "requires", "short", "signed", "sizeof", "static", "struct", "switch", "template", "this", "throw", "typedef",
    "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "xor", "xor_eq",
}  # fmt: skip
PROMOTED = "__sym_"  # prefix of symbols that DaCe's frontend makes of scalars: they are never arguments
JUMPS = {BreakBlock: "break", ContinueBlock: "continue", ReturnBlock: "return"}


def lift_sdfg(sdfg: dace.SDFG, read_once: bool = False) -> Program:
    """Read a prepared SDFG into a program tree.

    :param read_once: loops evaluate their bounds on entry, as in Python; else before each iteration, as in DaCe.
    :raises DifferentiationError: the control flow has no structure.
    """
    free = frozenset(str(s) for s in sdfg.free_symbols if not str(s).startswith(PROMOTED))
    names = Names({*sdfg.arrays, *sdfg.symbols, *free, *sdfg.constants_prop})
    symbols = dict(sorted(sdfg.symbols.items()))  # DaCe has them in the order of a set
    env = Env(names, {}, symbols, free, read_once)
    for name, desc in sdfg.arrays.items():
        if not isinstance(desc, (dt.View, dt.Reference)):
            reserved = desc.transient and name in CPP_KEYWORDS
            env.declare(name, desc, free_name=reserved)
    try:
        body = begin_communications(lift_body(sdfg, sdfg, env), env)
    except UnsupportedNode as error:
        raise DifferentiationError([Problem("program", str(error), where=str(source_of(sdfg)))]) from error
    arguments = tuple(n for n, d in sdfg.arrays.items() if not d.transient)
    return Program(
        sdfg.name, env.containers, env.symbols, dict(sdfg.constants_prop), body, arguments, dict(sdfg.callback_mapping)
    )


# --- control flow ------------------------------------------------------------------------------------------------
def lift_region(region: ControlFlowRegion, sdfg: dace.SDFG, env: Env) -> Block:
    """Read a control-flow region as a sequence of nodes.

    :raises UnsupportedNode: a block has several successors, or one under a condition.
    """
    out: list[Node] = []
    block: ControlFlowBlock | None = region.start_block if region.nodes() else None
    seen = set()
    while block is not None:
        if block in seen:
            raise UnsupportedNode(f"unstructured control flow at {source_of(block)}")
        seen.add(block)
        out += lift_block(block, sdfg, env)
        edges = region.out_edges(block)
        if not edges:
            break
        if len(edges) > 1 or not edges[0].data.is_unconditional():
            raise UnsupportedNode(f"unstructured control flow at {source_of(block)}")
        for symbol, value in edges[0].data.assignments.items():
            out += lift_assignment(symbol, value, sdfg, env)
        block = edges[0].dst
    if len(seen) != len(region.nodes()):
        raise UnsupportedNode(f"unstructured control flow in {source_of(region)}")
    return tuple(out)


def lift_body(region: ControlFlowRegion, sdfg: dace.SDFG, env: Env) -> Block:
    """Read the body of a (nested) SDFG, and replace its jumps by flags and conditions."""
    env.live = live_symbols(region)
    return without_jumps(lift_region(region, sdfg, env), env)


def lift_block(block: ControlFlowBlock, sdfg: dace.SDFG, env: Env) -> list[Node]:
    """Read one block of a control-flow region: a state, a loop, a conditional, a region or a jump.

    :raises UnsupportedNode: the block is of another kind.
    """
    if isinstance(block, SDFGState):
        return StateLifting(block, sdfg, env, lift_body).scope(None)
    if isinstance(block, LoopRegion):
        return lift_loop(block, sdfg, env)
    if isinstance(block, ConditionalBlock):
        return lift_branch(block, sdfg, env)
    if type(block) is ControlFlowRegion or isinstance(block, NamedRegion):
        return list(lift_region(block, sdfg, env))
    if type(block) in JUMPS:
        return [Jump(JUMPS[type(block)], source_of(block))]  # type: ignore[list-item]
    raise UnsupportedNode(f"{type(block).__name__} at {source_of(block)}")


def lift_branch(block: ConditionalBlock, sdfg: dace.SDFG, env: Env) -> list[Node]:
    """Read a conditional. A symbol that one arm assigns, and that is live after it, gets one name for all arms."""
    before = dict(env.values)
    arms: list[tuple[Value | None, Block]] = []
    ends: list[dict[str, Expr]] = []
    for condition, region in block.branches:
        value = lift_value(condition.as_string, env) if condition is not None else None
        env.values = dict(before)
        arms.append((value, lift_region(region, sdfg, env)))
        ends.append(env.values)
    env.values = before
    live = env.live.read_after(block)
    changed = sorted({s for end in ends for s, value in end.items() if before.get(s) != value and s in live})
    if changed and all(condition is not None for condition, _ in arms):
        arms.append((None, ()))
        ends.append(before)
    joined = {s: env.names.fresh(s) for s in changed}
    full = tuple((c, body + joins(joined, end, env)) for (c, body), end in zip(arms, ends, strict=True))
    env.values = {**before, **{s: sym(name) for s, name in joined.items()}}
    leaves = any(isinstance(n, Jump) for _, body in arms for n in walk(body))  # nothing reads the name then, but it is
    defined = joins(joined, {s: sympy.Integer(0) for s in joined}, env) if leaves else ()
    return [*defined, Branch(full, source_of(block))]


def source_inside(region: ControlFlowRegion) -> Source:
    """Return the source line of a region, or else that of the first node inside with a line."""
    found = [source_of(n, region.label) for n, _ in region.all_nodes_recursive() if isinstance(n, nd.Node)]
    return next((s for s in (source_of(region), *found) if s.line), source_of(region))


def lift_loop(loop: LoopRegion, sdfg: dace.SDFG, env: Env) -> list[Node]:
    """Read a loop. While it runs, symbols that one iteration passes to the next live in containers."""
    read_after = env.live.read_after(loop)
    counted = _counted_bounds(loop, env)
    variable = loop.loop_variable if loop.loop_variable and counted is None else None
    before: list[Node] = []
    if variable is not None:
        start = loop_analysis.get_init_assignment(loop)
        before += lift_assignment(variable, symbolic.symstr(start), sdfg, env)
    own_variable = {variable} if variable else set()
    assigned = assigned_in(loop) | own_variable
    handed_on = env.live.handed_on(loop) | own_variable
    if counted is None:  # whether an iteration runs may depend on a symbol that the one before assigned
        handed_on |= frozenset(loop.loop_condition.get_free_symbols())
    own = (assigned & handed_on) - env.float_symbols.keys() - env.carried.keys()
    before += [x for s in sorted(own) for x in carry(s, env)]
    carried = assigned & env.carried.keys()  # by this loop, or by one around it
    if counted is not None:
        out, first = lift_counted(loop, counted, carried, sdfg, env)
    else:
        out, first = lift_while(loop, variable, carried, sdfg, env)
    after = reload(carried & read_after, env)
    for s in own:
        del env.carried[s]
    for s in assigned - env.carried.keys() - read_after:
        env.values.pop(s, None)
    return [*before, *first, out, *after]


def _counted_bounds(loop: LoopRegion, env: Env) -> tuple | None:
    """Return start, stop and step of a loop that counts from its values on entry.

    None for one that has to run as ``while``.

    Such a loop changes its own bounds or steps away from them, or a break or an assignment determines the variable that
    is read after it.
    """
    counted = _bounds(loop)
    if counted is None or not env.read_once and _moves_its_bounds(loop, counted):
        return None
    way, step = direction_of_condition(loop), constant(counted[2], loop.parent_graph)
    if not way or step is not None and way * step <= 0:
        return None
    if _outlives(loop, env) and (loop.has_break or loop.loop_variable in assigned_in(loop)):
        return None
    return counted


def _outlives(loop: LoopRegion, env: Env) -> bool:
    """True if the program reads the loop variable after the loop."""
    return loop.loop_variable in env.live.read_after(loop)


def lift_counted(
    loop: LoopRegion, counted: tuple, carried: set[str], sdfg: dace.SDFG, env: Env
) -> tuple[Loop, list[Node]]:
    """Read a counted loop; with it, the assignment of its final variable if the program reads that later."""
    if constant(counted[2], loop.parent_graph) is None:
        return lift_either_way(loop, counted, carried, sdfg, env)
    bounds = [lift_value(symbolic.symstr(x), env) for x in counted]
    fresh = env.names.fresh(loop.loop_variable.strip("_") or "trip")
    env.symbols[fresh] = dace.int64
    body = _iteration(loop, sym(fresh), carried, sdfg, env)
    first: list[Node] = []
    if _outlives(loop, env):
        first_beyond = env.names.fresh(fresh)
        env.values[loop.loop_variable], env.symbols[first_beyond] = sym(first_beyond), dace.int64
        first.append(SymbolAssign(first_beyond, beyond(*bounds), dace.int64))
    start, stop, step = bounds
    return Loop(fresh, start, stop, step, body, source_inside(loop)), first


def lift_either_way(
    loop: LoopRegion, counted: tuple, carried: set[str], sdfg: dace.SDFG, env: Env
) -> tuple[Loop, list[Node]]:
    """Read a counted loop whose step has a sign that only a run knows: it counts its iterations.

    In a graph, one whose step leads away from its bound has none; as in Python, ``range`` then counts the other way.
    """
    parts = ("start", "last", "step", "trips")
    names = [env.names.fresh(f"{loop.loop_variable.strip('_')}_{part}") for part in parts]
    env.symbols |= dict.fromkeys(names, dace.int64)
    start, last, step, count = names
    text = trips(direction_of_condition(loop), start, last, step, env.read_once)
    found = [lift_value(symbolic.symstr(x), env) for x in counted]
    first: list[Node] = [SymbolAssign(n, v, dace.int64) for n, v in zip(names, found, strict=False)]
    first.append(SymbolAssign(count, Value((), code.parse(text)), dace.int64))
    trip = env.names.fresh("trip")
    env.symbols[trip] = dace.int64
    body = _iteration(loop, sym(start) + sym(trip) * sym(step), carried, sdfg, env)
    if _outlives(loop, env):
        env.values[loop.loop_variable] = sym(start) + sym(count) * sym(step)
    zero, one, stop = (Value((), code.parse(x)) for x in ("0", "1", f"{count} - 1"))
    return Loop(trip, zero, stop, one, body, source_inside(loop)), first


def _iteration(loop: LoopRegion, variable: Expr, carried: set[str], sdfg: dace.SDFG, env: Env) -> Block:
    """Read the body of a counted loop, in which its variable has a value."""
    saved = env.values.get(loop.loop_variable)
    env.values[loop.loop_variable] = variable
    used = {n.data for state in _states(loop) for n in state.data_nodes()}
    resize([n for n in used if loop.loop_variable in map(str, sdfg.arrays[n].free_symbols)], sdfg, env)
    body = (*reload(carried, env), *lift_region(loop, sdfg, env))
    if saved is not None:
        env.values[loop.loop_variable] = saved
    return body


def _states(region: ControlFlowRegion) -> list[SDFGState]:
    """Return the states of a region, without those of nested SDFGs."""
    return [b for b in region.all_control_flow_blocks() if isinstance(b, SDFGState)]


def beyond(start: Value, stop: Value, step: Value) -> Value:
    """Return the first value of a loop variable beyond the last iteration."""
    a, b, c = (f"({ast.unparse(v.expr)})" for v in (start, stop, step))
    loads = (*start.loads, *stop.loads, *step.loads)
    return Value(loads, code.parse(f"{a} + {c} * max(0, int_floor({b} - {a} + {c}, {c}))"))


def lift_while(
    loop: LoopRegion, variable: str | None, carried: set[str], sdfg: dace.SDFG, env: Env
) -> tuple[Loop, list[Node]]:
    """Read a loop that runs while a condition holds, with what precedes it. A fresh symbol counts iterations."""
    source = source_inside(loop)
    trip = env.names.fresh("trip")
    env.symbols[trip] = dace.int64
    condition = lift_value(loop.loop_condition.as_string, env, carried)
    first: list[Node] = []
    body: list[Node] = list(reload(carried, env))
    if loop.inverted:
        # the first iteration does not test the condition
        flag = env.declare("first_flag", dt.Scalar(dace.int32, transient=True)).name
        first.append(set_flag(flag, 1))
        body.append(set_flag(flag, 0))
        asked = Load(f"v_{flag}", flag, SCALAR)
        either = ast.BoolOp(op=ast.Or(), values=[code.parse(f"{asked.name} != 0"), condition.expr])
        condition = Value((asked, *condition.loads), either)
    body += lift_region(loop, sdfg, env)
    if variable is not None and loop.update_statement is not None:
        body += _update(loop, variable, body, sdfg, env)
    one, zero = (Value((), code.constant(k)) for k in (1, 0))
    return Loop(trip, zero, None, one, tuple(body), source, also=condition), first


def _update(loop: LoopRegion, variable: str, body: list[Node], sdfg: dace.SDFG, env: Env) -> list[Node]:
    """Read the update of a loop variable at the end of an iteration.

    :raises UnsupportedNode: an iteration may skip the update, or the condition is tested before it.
    """
    if loop.inverted and not loop.update_before_condition:
        raise UnsupportedNode(f"a loop that tests its condition before it counts, at {source_inside(loop)}")
    if any(isinstance(n, Jump) and n.kind == "continue" for n in walk(tuple(body))):
        raise UnsupportedNode(f"'continue' in a loop without plain bounds, at {source_inside(loop)}")
    out: list[Node] = []
    for statement in loop.update_statement.code:
        if isinstance(statement, ast.AugAssign):
            value: ast.expr = code.binary(type(statement.op), code.name(variable), statement.value)
        elif isinstance(statement, ast.Assign):
            value = statement.value
        else:
            raise UnsupportedNode(f"'{ast.unparse(statement)}' as the step of a loop, at {source_inside(loop)}")
        out += lift_assignment(variable, ast.unparse(value), sdfg, env)
    return out


def _moves_its_bounds(loop: LoopRegion, bounds: tuple) -> bool:
    """True if a loop writes a container or assigns a symbol that its stop or step is read from."""
    read = set().union(*(code.names_in(code.parse(symbolic.symstr(x))) for x in bounds[1:]))
    written = {n.data for state in _states(loop) for n in state.data_nodes() if state.in_degree(n) > 0}
    return bool(read & (written | assigned_in(loop)))


def _bounds(loop: LoopRegion) -> tuple | None:
    """Return start, stop and step of a loop that counts. None for any other loop."""
    if not loop.loop_variable or loop.init_statement is None or loop.inverted:
        return None
    found = (
        loop_analysis.get_init_assignment(loop),
        loop_analysis.get_loop_end(loop),
        loop_analysis.get_loop_stride(loop),
    )
    if any(x is None or loop.loop_variable in free_names(x) for x in found):
        return None
    return found


def assigned_in(region: ControlFlowRegion) -> set[str]:
    """Return the symbols that interstate edges of a region assign, without those of nested SDFGs."""
    return {s for e in region.all_interstate_edges() for s in e.data.assignments}
