"""Import a model as a graph of operator nodes, for operands of given shapes."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import dace
import numpy as np
import onnx
from dace import data as dt
from dace.config import set_temporary

from sdgrad.errors import OutOfMemory, UnsupportedOperator
from sdgrad.onnx.reading import Reading
from sdgrad.onnx_ops import session
from sdgrad.onnx_ops.families.elementwise import NUMBERS
from sdgrad.onnx_ops.fold import folded
from sdgrad.onnx_ops.nodes import ONNXOp
from sdgrad.onnx_ops.recording import captures, connectors
from sdgrad.onnx_ops.registry import Operation
from sdgrad.program.names import Names
from sdgrad.record.builder import Builder
from sdgrad.record.elements import Declined, Dim, Unknown, typeclass
from sdgrad.record.tensors import Tensor
from sdgrad.symbolic.expr import free_names

WRITTEN_OUT = 16  # elements of a constant up to which it is part of the code
REMEMBERED = 4096  # elements of an operand up to which shapes may depend on its content

Shape = tuple[Dim, ...]


@dataclass(frozen=True)
class Imported:
    """Hold a model as a graph."""

    sdfg: dace.SDFG
    results: tuple[tuple[Shape, np.dtype], ...]
    closure: Mapping[str, np.ndarray]  # constants that the graph takes as arguments
    decided: Mapping[str, str]  # kinds of the numbers that the graph was made for, by the model's names


@dataclass
class Importer:
    """Build the graph of a model; ``known`` has the content of tensors that do not depend on open inputs."""

    reading: Reading
    operands: Mapping[str, tuple[Shape, np.dtype]]  # inputs and weights
    arguments: Mapping[str, str]  # what these are called in the graph
    known: dict[str, np.ndarray]
    names: Names = field(default_factory=lambda: Names(()))
    containers: dict[str, str] = field(default_factory=dict)
    types: dict[str, tuple[Shape, np.dtype]] = field(default_factory=dict)
    closure: dict[str, np.ndarray] = field(default_factory=dict)
    access: dict[str, dace.nodes.AccessNode] = field(default_factory=dict)

    def run(self, name: str) -> Imported:
        """Import all nodes, and return the graph with its results."""
        decided = {n: v.dtype.kind for n, v in self.known.items() if n not in self.reading.constants}
        self.sdfg = dace.SDFG(name)
        self.state = self.sdfg.add_state("model")
        self.names.add(self.arguments.values())
        with set_temporary("compiler", "lineinfo", value="none"):  # lines of this file, slowly read from the stack
            self.names.add(free_names(*(n for shape, _ in self.operands.values() for n in shape)))
            for tensor, (shape, dtype) in self.operands.items():
                if tensor not in self.known:
                    self.declare(tensor, shape, dtype, transient=False)
            for node in self.reading.graph.node:
                self.node(node)
            results = [self.result(k, n) for k, n in enumerate(self.reading.outputs)]
        return Imported(self.sdfg, tuple(results), self.closure, decided)

    # -- tensors
    def declare(self, tensor: str, shape: Shape, dtype: np.dtype, transient: bool = True) -> None:
        """Declare the container of a tensor, and the symbols of its shape."""
        if dtype not in NUMBERS and dtype.kind != "c":
            raise UnsupportedOperator("tensor", tensor, f"numbers of type {dtype} are not computed with")
        name = self.arguments[tensor] if tensor in self.operands else self.names.fresh(identifier(tensor))
        kind = typeclass(dtype)
        desc: dt.Data = dt.Array(kind, list(shape), transient=transient) if shape else dt.Scalar(kind, transient)
        self.sdfg.add_datadesc(name, desc)
        for symbol in desc.free_symbols:
            if str(symbol) not in self.sdfg.symbols:
                self.sdfg.add_symbol(str(symbol), dace.int64)
        self.containers[tensor], self.types[tensor] = name, (shape, dtype)

    def read(self, tensor: str) -> dace.nodes.AccessNode:
        """Return the access node that a tensor is read from."""
        name = self.containers[tensor]
        if name not in self.access:
            self.access[name] = self.state.add_read(name)
        return self.access[name]

    def is_open(self, tensor: str) -> bool:
        """True if an operand comes in by a connector: it has memory."""
        if tensor not in self.known:
            return True
        if self.known[tensor].size <= WRITTEN_OUT:
            return False
        self.hold(tensor)
        return True

    def hold(self, tensor: str) -> None:
        """Give a constant memory, as an argument that always has the same content."""
        if tensor not in self.containers:
            array = self.known[tensor]
            self.declare(tensor, array.shape, array.dtype, transient=False)
            self.closure[self.containers[tensor]] = array

    # -- nodes
    def node(self, node: onnx.NodeProto) -> None:
        """Import a node: fold it, or add it to the graph."""
        if all(n in self.known for n in node.output if n):
            return
        op = Operation(node, self.reading.opsets)
        if (constants := self.constant_results(op)) is not None:
            self.known |= constants
            return
        takes, gives = connectors(node, op.schema)
        operands = dict(zip(takes[: len(node.input)], node.input, strict=True))
        operands |= {c: n for n, c in captures(node).items()}
        operands = {c: n for c, n in operands.items() if c}
        known = {c: self.known[n] for c, n in operands.items() if n in self.known and self.known[n].size <= REMEMBERED}
        entering = {c: n for c, n in operands.items() if self.is_open(n)}
        made = ONNXOp.of(node, self.reading.opsets, known, entering)
        results = self.implement(made, op, operands, known, entering)
        self.connect(made, entering, dict(zip(gives, node.output, strict=True)), results)

    def constant_results(self, op: Operation) -> dict[str, np.ndarray] | None:
        """Return the results of a node by constant folding; None if one of them has to be computed."""
        scratch = Builder("constants")
        try:
            constants = folded(op, [self.tensor(n, scratch) if n else None for n in op.node.input])
        except MemoryError as error:
            raise OutOfMemory(f"{op.kind} '{op.node.name}' is a constant: {error}", "A smaller one may fit") from error
        if constants is None:
            return None
        found = dict(zip(op.node.output, constants, strict=False))
        if any(self.has_to_be_computed(n, c) for n, c in found.items()):
            return None
        return {n: c for n, c in found.items() if n}

    def implement(
        self,
        made: ONNXOp,
        op: Operation,
        operands: Mapping[str, str],
        known: Mapping[str, np.ndarray],
        entering: Mapping[str, str],
    ) -> Mapping[str, tuple[Shape, np.dtype]]:
        """Choose the implementation of a node, its lowering or onnxruntime, and return its results by connector.

        :raises Unknown: the content of an operand decides shapes.
        """
        try:
            if type(made).default_implementation == "onnxruntime":
                raise Declined("it is chosen for this operator")
            if any(is_text(known[c]) for c in known):
                raise Declined("it has an operand of texts")
            results = made.recorded({c: self.types[n] for c, n in entering.items()}).results
            made.implementation = "pure"
        except Unknown as reason:
            raise Unknown(self._deciding(op, reason, entering), reason.what) from reason
        except Declined as reason:
            results = self.by_onnxruntime(op, operands, known, entering, str(reason))
            made.implementation = "onnxruntime"
        return results

    def connect(
        self,
        made: ONNXOp,
        entering: Mapping[str, str],
        leaving: Mapping[str, str],
        results: Mapping[str, tuple[Shape, np.dtype]],
    ) -> None:
        """Add a node to the graph, with edges from its operands and to its results."""
        self.state.add_node(made)
        for connector, name in entering.items():
            self.state.add_edge(self.read(name), None, made, connector, self.whole(name))
        for connector, name in leaving.items():
            if connector:
                self.declare(name, *results[connector])
                self.access[self.containers[name]] = access = self.state.add_access(self.containers[name])
                self.state.add_edge(made, connector, access, None, self.whole(name))

    def has_to_be_computed(self, name: str, content: np.ndarray) -> bool:
        """True if known content cannot be a constant: open sizes that are a result, or many."""
        return content.dtype == object and (name in self.reading.outputs or content.size > WRITTEN_OUT)

    def by_onnxruntime(
        self,
        op: Operation,
        operands: Mapping[str, str],
        known: Mapping[str, np.ndarray],
        entering: Mapping[str, str],
        reason: str,
    ) -> dict[str, tuple[Shape, np.dtype]]:
        """Return the results that onnxruntime gives for an operator without a lowering, by connector."""
        types = {n: self.types[n] for n in entering.values()}
        if any(not isinstance(m, int) for shape, _ in types.values() for m in shape):
            raise UnsupportedOperator(op.kind, op.node.name, f"{reason}; onnxruntime is not called on open dimensions")
        fixed = {operands[c]: a for c, a in known.items()}
        try:
            model, found = session.one_node(op, types, fixed)
            session.session_of(model)
        except Declined as error:  # its content decides, and so it is computed before
            output = next(n for n in op.node.output if n and n not in self.known)
            raise Unknown(output, f"'{output}'", reason) from error
        except Exception as error:  # noqa: BLE001 (onnxruntime has errors of its own for each state)
            raise UnsupportedOperator(op.kind, op.node.name, f"{reason}; by onnxruntime: {error}") from error
        connector = dict(zip(op.node.output, connectors(op.node, op.schema)[1], strict=True))
        return {connector[n]: (s, d) for n, s, d in found}

    def _deciding(self, op: Operation, reason: Unknown, entering: Mapping[str, str]) -> str:
        """Return the operand whose content decides shapes: the connector's, or the first integers."""
        asked = entering.get(reason.container)
        if asked is not None and asked not in self.known:
            return asked
        open_ones = [n for n in entering.values() if n not in self.known]
        whole = [n for n in open_ones if self.types[n][1].kind in "iub"]
        few = [n for n in open_ones if np.prod(self.types[n][0], dtype=object) == 1]
        if not whole and not few:
            raise UnsupportedOperator(op.kind, op.node.name, "shapes depend on real numbers") from reason
        return (whole or few)[0]

    def tensor(self, name: str, b: Builder) -> Tensor:
        """Return what is known of an operand beforehand."""
        if name in self.known:
            return b.constant(self.known[name])
        shape, dtype = self.types[name]
        return Tensor(b, "operand", shape, dtype)

    def whole(self, tensor: str) -> dace.Memlet:
        return dace.Memlet.from_array(self.containers[tensor], self.sdfg.arrays[self.containers[tensor]])

    def result(self, k: int, tensor: str) -> tuple[Shape, np.dtype]:
        """Copy a tensor to what the function returns."""
        name = "__return" if len(self.reading.outputs) == 1 else f"__return_{k}"
        if tensor in self.known:
            self.hold(tensor)
        shape, dtype = self.types[tensor]
        self.sdfg.add_array(name, list(shape) or [1], typeclass(dtype))
        source = self.read(tensor)
        target = self.state.add_write(name)
        desc = self.sdfg.arrays[name]
        self.state.add_nedge(source, target, dace.Memlet.from_array(name, desc))
        return shape, dtype


def is_text(content: np.ndarray) -> bool:
    """True of texts; other arrays of objects are sizes over open dimensions."""
    if content.dtype == object:
        return any(isinstance(v, (str, bytes)) for v in content.flat)
    return content.dtype.kind in "US"


def identifier(name: str) -> str:
    """Return the name of a container for a tensor."""
    text = re.sub(r"\W", "_", name, flags=re.ASCII) or "tensor"
    plain = text[0].isalpha() and not text.startswith("__") and not keyword.iskeyword(text)
    return text if plain else f"t_{text.lstrip('_')}"
