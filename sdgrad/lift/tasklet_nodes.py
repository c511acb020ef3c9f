"""Read the tasklets of a state, with their connectors, as leaves without parameters."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping

import dace
from dace import data as dt
from dace import nodes as nd

from sdgrad.errors import UnsupportedNode
from sdgrad.lift.copies import mode_of
from sdgrad.lift.data_access import DataAccess, source_of
from sdgrad.lift.tasklets import ArrayOperand, Operand, Output, ScalarOperand, lift_code
from sdgrad.program.tree import (
    SCALAR,
    Instr,
    Leaf,
    Let,
    Load,
    Node,
    Store,
)
from sdgrad.symbolic import code
from sdgrad.symbolic.expr import Expr, to_ast


class TaskletReader:
    """The tasklets of one state; ``pipes`` are the scalars that one tasklet passes to another directly."""

    def __init__(self, access: DataAccess) -> None:
        self.access, self.env, self.state = access, access.env, access.state
        self.pipes: dict[tuple[nd.Tasklet, str], str] = {}

    def tasklet(self, node: nd.Tasklet) -> Node:
        """Read a tasklet as a leaf; as an opaque call unless its code is straight-line Python."""
        if node.language != dace.Language.Python or node.side_effects:
            return self.access.call(node, f"a tasklet in {node.language.name}")
        try:
            return self.leaf(node)
        except UnsupportedNode as reason:
            return self.access.call(node, str(reason))

    def leaf(self, node: nd.Tasklet) -> Leaf:
        """Read a Python tasklet as a leaf: loads of its inputs, its code, and stores of its outputs.

        :raises UnsupportedNode: the code is not straight-line scalar code.
        """
        names = self.env.names
        inputs, loads = self.inputs(node)
        outputs, extra = self.outputs(node)
        symbols = {old: to_ast(new) for old, new in self.env.values.items()}
        for symbol, container in self.env.float_symbols.items():
            loads.append(Load(names.fresh(f"v_{symbol}"), container, SCALAR))
            symbols[symbol] = code.name(loads[-1].name)
        body = node.code.code if isinstance(node.code.code, list) else ast.parse(node.code.as_string).body
        body = with_named_types(body, {**node.in_connectors, **node.out_connectors})
        instrs, values = lift_code(body, inputs, outputs, symbols, names)
        used = {n for i in instrs for n in _mentioned(i)}
        stores = [
            Store(container, index, values[conn], mode) for conn, container, index, mode in extra if conn in values
        ]
        used |= {s.value for s in stores}
        return Leaf((), (*(x for x in loads if x.name in used), *instrs, *stores), source_of(node))

    def inputs(self, node: nd.Tasklet) -> tuple[dict[str, Operand], list[Load]]:
        """Return the operand of each input connector, and loads of those that are scalars."""
        loads: list[Load] = []
        inputs: dict[str, Operand] = {}
        for edge in self.state.in_edges(node):
            if edge.dst_conn is None:
                continue
            if edge.src_conn is not None and isinstance(edge.src, nd.Tasklet):
                load = self.load(edge.dst_conn, self.pipes[edge.src, edge.src_conn], SCALAR)
            else:
                window, subset = self.access.outer(edge)
                ranges = self.env.range(subset)
                if _is_pointer(node.in_connectors[edge.dst_conn]) or ranges.num_elements() != 1:
                    inputs[edge.dst_conn] = ArrayOperand(window, ranges)
                    continue
                index = window.index(tuple(b for b, _, _ in ranges.ranges))
                load = self.load(window.container, window.container, index)
            loads.append(load)
            inputs[edge.dst_conn] = ScalarOperand(load.name)
        return inputs, loads

    def load(self, stem: str, container: str, index: tuple[Expr, ...]) -> Load:
        """Return a load of one element under a fresh name."""
        return Load(self.env.names.fresh(f"v_{stem}"), container, index)

    def outputs(self, node: nd.Tasklet) -> tuple[dict[str, Output], list[tuple]]:
        """Return the first target of each output connector, and stores to further targets.

        Such a store is given by its connector, container, subscript and mode.
        """
        outputs: dict[str, Output] = {}
        extra: list[tuple] = []
        for edge in self.state.out_edges(node):
            if edge.src_conn is None:
                continue
            if isinstance(edge.dst, nd.Tasklet):
                if (node, edge.src_conn) not in self.pipes:
                    pipe = self.pipe(node, edge.src_conn)
                    outputs.setdefault(edge.src_conn, Output(None))
                    extra.append((edge.src_conn, pipe, SCALAR, "set"))
                continue
            window, subset = self.access.outer(edge)
            operand, mode = ArrayOperand(window, self.env.range(subset)), mode_of(edge.data.wcr)
            if mode == "custom":
                raise UnsupportedNode(f"write-conflict resolution '{edge.data.wcr}'")
            if edge.src_conn in outputs and outputs[edge.src_conn].operand is not None:
                extra.append((edge.src_conn, operand.container, operand.first, mode))
            else:
                outputs[edge.src_conn] = Output(operand, mode)
        return outputs, extra

    def pipe(self, node: nd.Tasklet, connector: str) -> str:
        """Declare a scalar for a connector that leads to another tasklet; its name."""
        dtype = node.out_connectors[connector] or dace.float64
        made = self.env.declare(f"{node.label}_{connector}", dt.Scalar(dtype, transient=True))
        self.pipes[node, connector] = made.name
        return made.name


def with_named_types(body: list[ast.stmt], types: Mapping[str, dace.typeclass | None]) -> list[ast.stmt]:
    """Name the types in casts: ``decltype(__out)(x)``, as the frontend writes them, become ``dace.float64(x)``."""
    if not any(isinstance(n, ast.Name) and n.id == "decltype" for s in body for n in ast.walk(s)):
        return body

    class Casts(ast.NodeTransformer):
        """Replace the type of a connector by its name."""

        def visit_Call(self, node: ast.Call) -> ast.expr:
            self.generic_visit(node)
            if code.callee(node) != "decltype" or len(node.args) != 1:
                return node
            dtype = types.get(ast.unparse(node.args[0]))
            return code.parse(f"dace.{dtype.base_type.to_string()}") if dtype is not None else node

    return [Casts().visit(copy.deepcopy(s)) for s in body]


def _mentioned(instr: Instr) -> set[str]:
    """Return the names that an instruction uses."""
    if isinstance(instr, Let):
        return code.names_in(instr.expr)
    names = {s.name for i in instr.index for s in i.free_symbols}
    if isinstance(instr, Store):
        names.add(instr.value)
    return names | ({instr.guard} if instr.guard else set())


def _is_pointer(dtype: object) -> bool:
    """True if a connector carries an array."""
    return isinstance(dtype, dace.dtypes.pointer)
