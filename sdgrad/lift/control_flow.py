"""Control flow of an SDFG as a program tree."""

from __future__ import annotations

import ast
import copy
from collections.abc import Set

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
from sdgrad.lift.custom_regions import custom_call
from sdgrad.lift.jumps import Jump, set_flag, without_jumps
from sdgrad.lift.states import StateLifting, source_of
from sdgrad.lift.symbol_liveness import live_symbols
from sdgrad.lift.views import Env, resolve_symbols
from sdgrad.program.custom_rule import rule_of
from sdgrad.program.leaves import set_scalar
from sdgrad.program.names import Names
from sdgrad.program.tree import (
    SCALAR,
    Block,
    Branch,
    Container,
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
from sdgrad.symbolic.expr import Expr, sym, to_ast, to_expr

CPP_KEYWORDS = {
    "alignas", "alignof", "and_eq", "asm", "atomic_cancel", "auto", "bitand", "bitor", "catch", "char", "class",
    "compl", "concept", "const", "constexpr", "decltype", "default", "delete", "do", "double", "dynamic_cast",
    "enum", "explicit", "export", "extern", "float", "friend", "goto", "inline", "int", "long", "mutable",
    "namespace", "new", "noexcept", "not_eq", "operator", "or_eq", "private", "protected", "public", "register",
    "requires", "short", "signed", "sizeof", "static", "struct", "switch", "template", "this", "throw", "typedef",
    "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "xor", "xor_eq",
}  # fmt: skip
PROMOTED = "__sym_"  # symbols that DaCe's frontend makes of scalars: never a caller's, if assigned in a branch only
JUMPS = {BreakBlock: "break", ContinueBlock: "continue", ReturnBlock: "return"}
FLOATS = {dace.float16, dace.float32, dace.float64, dace.complex64, dace.complex128}


def lift_sdfg(sdfg: dace.SDFG, read_once: bool = False) -> Program:
    """The program tree of a prepared SDFG. Raises :class:`DifferentiationError` for what has no structure.

    :param read_once: loops read their bounds when they are entered, as in Python; else before each trip, as DaCe does.
    """
    free = frozenset(str(s) for s in sdfg.free_symbols if not str(s).startswith(PROMOTED))
    names = Names({*sdfg.arrays, *sdfg.symbols, *free, *sdfg.constants_prop})
    env = Env(names, {}, dict(sdfg.symbols), free, read_once)
    for name, desc in sdfg.arrays.items():
        if not isinstance(desc, (dt.View, dt.Reference)):
            reserved = desc.transient and name in CPP_KEYWORDS
            env.declare(name, desc, free_name=reserved)
    try:
        body = lift_body(sdfg, sdfg, env)
    except UnsupportedNode as error:
        raise DifferentiationError([Problem("program", str(error), where=str(source_of(sdfg)))]) from error
    arguments = tuple(n for n, d in sdfg.arrays.items() if not d.transient)
    return Program(
        sdfg.name, env.containers, env.symbols, dict(sdfg.constants_prop), body, arguments, dict(sdfg.callback_mapping)
    )


# --- control flow ------------------------------------------------------------------------------------------------
def lift_region(region: ControlFlowRegion, sdfg: dace.SDFG, env: Env) -> Block:
    """A control-flow region as a sequence. Every block must have one successor, taken always."""
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
    """The body of an SDFG, without jumps."""
    env.live = live_symbols(region)
    return without_jumps(lift_region(region, sdfg, env), env)


def lift_block(block: ControlFlowBlock, sdfg: dace.SDFG, env: Env) -> list[Node]:
    if isinstance(block, SDFGState):
        return StateLifting(block, sdfg, env, lift_body).scope(None)
    if isinstance(block, LoopRegion):
        return lift_loop(block, sdfg, env)
    if isinstance(block, ConditionalBlock):
        return lift_branch(block, sdfg, env)
    if isinstance(block, NamedRegion) and (rule := rule_of(block.label)) is not None:
        body = lift_region(block, sdfg, env)
        return [custom_call(rule, body, sdfg, env, source_inside(block))]
    if type(block) is ControlFlowRegion or isinstance(block, NamedRegion):
        return list(lift_region(block, sdfg, env))
    if type(block) in JUMPS:
        return [Jump(JUMPS[type(block)], source_of(block))]  # type: ignore[list-item]
    raise UnsupportedNode(f"{type(block).__name__} at {source_of(block)}")


def lift_assignment(symbol: str, text: str, sdfg: dace.SDFG, env: Env) -> list[Node]:
    """``symbol := text`` on an interstate edge: integers stay symbols, floats become scalar containers."""
    dtype = env.symbols.get(symbol) or sdfg.symbols.get(symbol) or dace.int64
    value = lift_value(text, env)
    if dtype in FLOATS:
        if symbol not in env.float_symbols:
            env.float_symbols[symbol] = env.declare(f"{symbol}_value", dt.Scalar(dtype, transient=True)).name
        return [set_scalar(env.float_symbols[symbol], value, env.names.fresh("v"), Source(label=symbol))]
    if symbol in env.carried:
        put = set_scalar(env.carried[symbol], value, env.names.fresh("v"), Source(label=symbol))
        return [put, *reload({symbol}, env)]
    fresh = env.names.fresh(symbol)
    env.values[symbol] = sym(fresh)
    env.symbols[fresh] = dtype
    resize([n for n, d in sdfg.arrays.items() if symbol in map(str, d.free_symbols)], sdfg, env)
    return [SymbolAssign(fresh, value, dtype)]


def lift_value(text: str | ast.expr, env: Env, carried: Set[str] = frozenset()) -> Value:
    """An expression of an interstate edge or a condition: container elements become loads.

    :param carried: symbols that are read from the containers loops carry them in.
    """
    in_containers = {**env.float_symbols, **{s: env.carried[s] for s in carried}}
    tree = code.parse(text) if isinstance(text, str) else text
    loads: list[Load] = []

    def element(name: str, index: tuple) -> ast.expr:
        target = env.names.fresh(f"v_{name}")
        window = env.windows[name]
        loads.append(Load(target, window.container, window.index(index)))
        return code.name(target)

    class Elements(ast.NodeTransformer):
        def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            index = tuple(to_expr(ast.unparse(self.visit(p))) for p in parts)
            return element(ast.unparse(node.value), tuple(env.expr(i) for i in index))

        def visit_Name(self, node: ast.Name) -> ast.expr:
            if node.id in in_containers:
                target = env.names.fresh(f"v_{node.id}")
                loads.append(Load(target, in_containers[node.id], SCALAR))
                return code.name(target)
            if node.id in env.windows:
                return element(node.id, SCALAR)
            return to_ast(env.values[node.id]) if node.id in env.values else node

        def visit_Call(self, node: ast.Call) -> ast.expr:
            node.args = [self.visit(a) for a in node.args]
            return node

    result = Elements().visit(copy.deepcopy(tree))
    return Value(tuple(loads), result)


def lift_branch(block: ConditionalBlock, sdfg: dace.SDFG, env: Env) -> list[Node]:
    """A conditional. Symbols that an arm assigns and something reads later get one name for both arms."""
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
    return [Branch(full, source_of(block))]


def joins(joined: dict[str, str], end: dict[str, Expr], env: Env) -> Block:
    """Assignments of the common names at the end of one arm."""
    out = []
    for symbol, name in joined.items():
        dtype = env.symbols[name] = env.symbols.get(symbol, dace.int64)
        out.append(SymbolAssign(name, Value((), to_ast(end.get(symbol, unassigned(symbol, env)))), dtype))
    return tuple(out)


def unassigned(symbol: str, env: Env) -> Expr:
    """What a symbol is before it is assigned: what the caller gives, or nothing that is read."""
    return sym(symbol) if symbol in env.free else sympy.Integer(0)


def source_inside(region: ControlFlowRegion) -> Source:
    """Where a region comes from: its own line, or that of the first node in it that has one."""
    found = [source_of(n, region.label) for n, _ in region.all_nodes_recursive() if isinstance(n, nd.Node)]
    return next((s for s in (source_of(region), *found) if s.line), source_of(region))


def lift_loop(loop: LoopRegion, sdfg: dace.SDFG, env: Env) -> list[Node]:
    """A loop. Symbols that its trips hand on to each other live in containers while it runs."""
    source = source_inside(loop)
    read_after = env.live.read_after(loop)
    counted = _bounds(loop)
    if counted is not None and not env.read_once and _moves_its_bounds(loop, counted):
        counted = None
    outlives = loop.loop_variable in read_after
    if outlives and (loop.has_break or loop.loop_variable in assigned_in(loop)):
        counted = None
    variable = loop.loop_variable if loop.loop_variable and counted is None else None
    before: list[Node] = []
    if variable is not None:
        start = loop_analysis.get_init_assignment(loop)
        before += lift_assignment(variable, symbolic.symstr(start), sdfg, env)
    assigned = assigned_in(loop) | ({variable} if variable else set())
    handed_on = env.live.handed_on(loop) | ({variable} if variable else set())
    own = (assigned & handed_on) - env.float_symbols.keys() - env.carried.keys()
    before += [x for s in sorted(own) for x in carry(s, env)]
    carried = assigned & env.carried.keys()  # by this loop, or by one around it
    if counted is not None:
        bounds = [lift_value(symbolic.symstr(x), env) for x in counted]
        saved = env.values.get(loop.loop_variable)
        fresh = env.names.fresh(loop.loop_variable.strip("_") or "trip")
        env.values[loop.loop_variable], env.symbols[fresh] = sym(fresh), dace.int64
        start_value, stop_value, step_value = bounds
        states = (b for b in loop.all_control_flow_blocks() if isinstance(b, SDFGState))
        used = {n.data for state in states for n in state.data_nodes()}
        resize([n for n in used if loop.loop_variable in map(str, sdfg.arrays[n].free_symbols)], sdfg, env)
        body = (*reload(carried, env), *lift_region(loop, sdfg, env))
        if saved is not None:
            env.values[loop.loop_variable] = saved
        if outlives:
            first_beyond = env.names.fresh(fresh)
            env.values[loop.loop_variable], env.symbols[first_beyond] = sym(first_beyond), dace.int64
            before.append(SymbolAssign(first_beyond, beyond(*bounds), dace.int64))
        out: Node = Loop(fresh, start_value, stop_value, step_value, body, source)
    else:
        out, first = lift_while(loop, variable, carried, sdfg, env, source)
        before += first
    after = reload(carried & read_after, env)
    for s in own:
        del env.carried[s]
    for s in assigned - env.carried.keys() - read_after:
        env.values.pop(s, None)
    return [*before, out, *after]


def beyond(start: Value, stop: Value, step: Value) -> Value:
    """The first value of a loop's variable that ends the loop."""
    a, b, c = (f"({ast.unparse(v.expr)})" for v in (start, stop, step))
    loads = (*start.loads, *stop.loads, *step.loads)
    return Value(loads, code.parse(f"{a} + {c} * max(0, int_floor({b} - {a}, {c}) + 1)"))


def resize(names: list[str], sdfg: dace.SDFG, env: Env) -> None:
    """Arrays whose size is an expression of a symbol that has a value now, in terms of the program's own symbols.

    Views are parts of others, and are bound anew where they are made.
    """
    for name in names:
        if name in env.windows and sdfg.arrays[name].transient and not isinstance(sdfg.arrays[name], dt.View):
            container = env.windows[name].container
            env.containers[container] = Container(container, resolve_symbols(sdfg.arrays[name], env))


def lift_while(
    loop: LoopRegion, variable: str | None, carried: set[str], sdfg: dace.SDFG, env: Env, source: Source
) -> tuple[Loop, list[Node]]:
    """A loop that runs while a condition holds, and what comes before it. Its own symbol counts trips."""
    trip = env.names.fresh("trip")
    env.symbols[trip] = dace.int64
    condition = lift_value(loop.loop_condition.as_string, env, carried)
    first: list[Node] = []
    body: list[Node] = list(reload(carried, env))
    if loop.inverted:
        # the first trip is not asked
        flag = env.declare("first_flag", dt.Scalar(dace.int32, transient=True)).name
        first.append(set_flag(flag, 1))
        body.append(set_flag(flag, 0))
        asked = Load(f"v_{flag}", flag, SCALAR)
        either = ast.BoolOp(op=ast.Or(), values=[code.parse(f"{asked.name} != 0"), condition.expr])
        condition = Value((asked, *condition.loads), either)
    body += lift_region(loop, sdfg, env)
    if variable is not None and loop.update_statement is not None:
        if loop.inverted and not loop.update_before_condition:
            raise UnsupportedNode(f"a loop that tests its condition before it counts, at {source}")
        if any(isinstance(n, Jump) and n.kind == "continue" for n in walk(tuple(body))):
            raise UnsupportedNode(f"'continue' in a loop without plain bounds, at {source}")
        for statement in loop.update_statement.code:
            assert isinstance(statement, ast.Assign)
            body += lift_assignment(variable, ast.unparse(statement.value), sdfg, env)
    one, zero = (Value((), code.constant(k)) for k in (1, 0))
    return Loop(trip, zero, None, one, tuple(body), source, also=condition), first


def _moves_its_bounds(loop: LoopRegion, bounds: tuple) -> bool:
    """Whether a loop writes what its bounds are read from."""
    read = set().union(*(code.names_in(code.parse(symbolic.symstr(x))) for x in bounds[1:]))
    states = (b for b in loop.all_control_flow_blocks() if isinstance(b, SDFGState))
    return any(n.data in read and state.in_degree(n) > 0 for state in states for n in state.data_nodes())


def _bounds(loop: LoopRegion) -> tuple | None:
    """Start, stop and step of a loop that counts; None for any other."""
    if not loop.loop_variable or loop.init_statement is None or loop.inverted:
        return None
    found = (
        loop_analysis.get_init_assignment(loop),
        loop_analysis.get_loop_end(loop),
        loop_analysis.get_loop_stride(loop),
    )
    return None if any(x is None for x in found) else found


def assigned_in(region: ControlFlowRegion) -> set[str]:
    """Symbols that interstate edges of a region assign, nested programs aside."""
    return {s for e in region.all_interstate_edges() for s in e.data.assignments}


def carry(symbol: str, env: Env) -> list[Node]:
    """Put a symbol into a container, which assignments of it update from here on."""
    name = env.declare(f"{symbol}_value", dt.Scalar(env.symbols.get(symbol, dace.int64), transient=True)).name
    env.carried[symbol] = name
    start = env.values.get(symbol, unassigned(symbol, env))
    return [set_scalar(name, Value((), to_ast(start)), env.names.fresh("v"), Source(label=symbol))]


def reload(symbols: set[str], env: Env) -> list[Node]:
    """New symbols for what the containers of carried ones hold."""
    out: list[Node] = []
    for symbol in sorted(symbols):
        fresh, v = env.names.fresh(symbol), env.names.fresh("v")
        dtype = env.symbols[fresh] = env.symbols.get(symbol, dace.int64)
        value = Value((Load(v, env.carried[symbol], SCALAR),), code.name(v))
        env.values[symbol] = sym(fresh)
        out.append(SymbolAssign(fresh, value, dtype))
    return out
