"""Emission of graph pieces: one state per operation, each a map around one Python tasklet, a reduction, or a view."""

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from dace import Memlet, data, subsets, symbolic

from sdgrad.frontend.replacements.operands import Operand, Size, read_operand
from sdgrad.frontend.replacements.promotion import dace_dtype


def same_size(a, b) -> bool:
    return not symbolic.inequal_symbols(a, b)


def broadcast_shape(shapes, function: str) -> tuple:
    """The shape that operands of these shapes broadcast to; sizes that cannot be proved equal are refused."""
    result: list[Size] = []
    for position in range(1, max(map(len, shapes), default=0) + 1):
        sizes = [shape[-position] for shape in shapes if len(shape) >= position]
        wide = [size for size in sizes if not same_size(size, 1)]
        if any(not same_size(size, wide[0]) for size in wide):
            raise ValueError(f"{function}: shapes {', '.join(map(str, shapes))} do not broadcast together")
        result.insert(0, wide[0] if wide else 1)
    return tuple(result)


def parameters(shape) -> list[str]:
    """The map parameter of every dimension; a dimension of one element needs none."""
    return ["0" if same_size(size, 1) else f"__i{k}" for k, size in enumerate(shape)]


def element_count(shape):
    return data._prod(shape) if shape else 1


@dataclass
class Emitter:
    """Appends operations to the program under translation, wherever its visitor stands (loop bodies included)."""

    visitor: Any  # DaCe's ProgramVisitor, whose attributes have no types
    function: str
    _unused_state: Any = None
    _states: list[Any] = field(default_factory=list)

    @property
    def sdfg(self):
        return self.visitor.sdfg

    def state(self, label: str):
        # An empty state is false, so ask for None
        state = self.visitor._add_state(label) if self._unused_state is None else self._unused_state
        self._unused_state = None
        state.set_default_lineinfo(self.visitor.current_lineinfo)
        self._states.append(state)
        return state

    def finish(self):
        """Line information is a default of the state only while this call adds to it."""
        for state in self._states:
            state.set_default_lineinfo(None)

    def operand(self, argument, name: str = "argument") -> Operand:
        return argument if isinstance(argument, Operand) else read_operand(self.sdfg, argument, self.function, name)

    def array(self, argument, name: str = "argument") -> Operand:
        """An operand that is a container: a number is first written to a scalar."""
        operand = self.operand(argument, name)
        return operand if operand.container is not None else self.operand(self.compute("constant", "{0}", [operand]))

    def new(self, shape, dtype: np.dtype) -> str:
        name = self.visitor.get_target_name()
        if shape == ():
            return self.sdfg.add_scalar(name, dace_dtype(dtype), transient=True, find_new_name=True)[0]
        return self.sdfg.add_transient(name, shape, dace_dtype(dtype), find_new_name=True)[0]

    def compute(
        self, label, template, operands, dtype=None, shape=None, loop_types=None, out=None, out_at=None, state=None
    ):
        """``out[i] = template`` for all ``i`` of ``shape``; ``{0}``, ``{1}``, ... in the template are the operands.

        Operands are cast to ``loop_types`` first (by default to ``dtype``, by default the first operand's type). A new
        container is made unless ``out`` names one; ``out_at`` places the elements within it.
        """
        operands = [self.operand(o) for o in operands]
        dtype = np.dtype(operands[0].dtype if dtype is None else dtype)
        if shape is None:
            shape = broadcast_shape([o.shape for o in operands], self.function)
        types = loop_types or [dtype] * len(operands)
        code = template.format(
            *(o.code(f"__in{k + 1}", t) for k, (o, t) in enumerate(zip(operands, types, strict=True)))
        )
        out = out or self.new(shape, dtype)
        params = parameters(shape)
        reads = {
            f"__in{k + 1}": self._memlet(o.container, o.at or self._broadcast_index(o.shape, params))
            for k, o in enumerate(operands)
            if o.container is not None and f"__in{k + 1}" in code
        }
        written = {"__out": self._memlet(out, out_at or params)}
        self._mapped(self.state(label) if state is None else state, label, shape, reads, f"__out = {code}", written)
        return out

    @staticmethod
    def _broadcast_index(shape, params) -> list[str]:
        own = params[len(params) - len(shape) :]
        return ["0" if same_size(size, 1) else param for size, param in zip(shape, own, strict=False)]

    @staticmethod
    def _memlet(container, indices) -> Memlet:
        return Memlet(data=container, subset=", ".join(map(str, indices)) or "0")

    @staticmethod
    def _mapped(state, label, shape, reads, code, writes):
        text = " ".join([code, *(str(memlet.subset) for memlet in (*reads.values(), *writes.values()))])
        used = set(re.findall(r"__i\d+", text))
        ranges = {
            f"__i{k}": f"0:{symbolic.symstr(size)}"
            for k, size in enumerate(shape)
            if f"__i{k}" in used or not same_size(size, 1)
        }
        if ranges:
            made = state.add_mapped_tasklet(
                f"_{label}_", ranges, reads, code, writes, external_edges=True, propagate=False
            )
            for edge in (*state.in_edges(made[1]), *state.out_edges(made[2])):  # which nobody asks how much they move
                edge.data = Memlet.from_array(edge.data.data, state.sdfg.arrays[edge.data.data])
            return
        tasklet = state.add_tasklet(f"_{label}_", dict.fromkeys(reads), dict.fromkeys(writes), code)
        for connector, memlet in reads.items():
            state.add_edge(state.add_read(memlet.data), None, tasklet, connector, memlet)
        for connector, memlet in writes.items():
            state.add_edge(tasklet, connector, state.add_write(memlet.data), None, memlet)

    def cast(self, operand: Operand, dtype: np.dtype) -> Operand:
        if operand.container is not None and operand.kind == dtype:
            return operand
        return self.operand(self.compute("cast", "{0}", [operand], dtype))

    def reduce(self, label: str, combine: str, operand: Operand, axes, identity, keepdims: bool = False) -> str:
        """A ``Reduce`` node over ``axes`` with ``combine`` (a lambda), in the operand's own type."""
        operand = self.array(operand)
        if not axes:
            return self.compute(label, "{0}", [operand])
        kept = tuple(size for k, size in enumerate(operand.shape) if k not in axes)
        full = not kept
        out = self.new((1,) if full and keepdims else kept, operand.dtype)
        state = self.state(label)
        node = state.add_reduce(combine, None if full else list(axes), identity)
        read, write = state.add_read(operand.container), state.add_write(out)
        state.add_nedge(read, node, Memlet.from_array(operand.container, self.sdfg.arrays[operand.container]))
        state.add_nedge(node, write, Memlet.from_array(out, self.sdfg.arrays[out]))
        if not keepdims:
            return out
        return self.view(out, tuple(1 if k in axes else size for k, size in enumerate(operand.shape)))

    def view(self, container: str, shape) -> str:
        """``container`` seen with another shape of as many elements; a copy only where it is not contiguous."""
        desc = self.sdfg.arrays[container]
        if isinstance(desc, data.Scalar):
            return self.compute("reshape", "{0}", [container], shape=shape)
        row_major = [element_count(desc.shape[k + 1 :]) for k in range(len(desc.shape))]
        strided = [k for k, size in enumerate(desc.shape) if not same_size(size, 1)]
        if any(not same_size(desc.strides[k], row_major[k]) for k in strided):
            return self.view(self.compute("copy", "{0}", [container]), shape)
        name, view = self.sdfg.add_view(container, shape, desc.dtype, storage=desc.storage, find_new_name=True)
        whole, seen = subsets.Range.from_array(desc), subsets.Range.from_array(view)
        self.visitor.views[name] = (container, Memlet(data=container, subset=whole, other_subset=seen))
        return name

    def loop(self, start, stop):
        """A sequential loop, appended to the program: its body state and its variable."""
        taken = set(self.sdfg.symbols) | set(self.sdfg.arrays) | set(self.visitor.globals)
        variable = next(f"__scan{n}" for n in range(len(taken) + 1) if f"__scan{n}" not in taken)
        self.sdfg.add_symbol(variable, dace_dtype(np.int64))
        # The visitor links the loop to what came before; a state not yet used stays before it, empty
        self._unused_state = None
        region = self.visitor._add_loop_region(
            f"{variable} < {symbolic.symstr(stop)}",
            f"loop{variable}",
            variable,
            f"{variable} = {start}",
            f"{variable} = {variable} + 1",
        )
        body = region.add_state("scan_body", is_start_block=True)
        body.set_default_lineinfo(self.visitor.current_lineinfo)
        self._states.append(body)
        return body, variable
