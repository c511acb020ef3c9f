"""Call and differentiate a model as a function."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dace
import numpy as np
import onnx

from sdgrad.api.gradient import value_and_grad
from sdgrad.errors import ArgumentError, DifferentiationError, NameNotFound, Problem, UnsupportedOperator
from sdgrad.machine.limits import Limit
from sdgrad.onnx.function import ModelFunction, alike
from sdgrad.onnx.importing import Imported, Importer, identifier
from sdgrad.onnx.inside import record
from sdgrad.onnx.losses import WithLoss
from sdgrad.onnx.reading import Reading, read
from sdgrad.onnx.statics import evaluate
from sdgrad.program.names import Names
from sdgrad.record.calls import example
from sdgrad.record.elements import Unknown
from sdgrad.record.recorder import Recorder
from sdgrad.runtime.call.marshalling import as_array, is_tensor, like, matching
from sdgrad.specialize.argnums import several
from sdgrad.specialize.forward_backward import Backward, Forward


class Model:
    """Run and differentiate an ONNX model as generated code; made by :func:`load`."""

    def __init__(self, reading: Reading, name: str, memory_limit: Limit | None = None) -> None:
        names = Names(())
        self.reading = reading
        self.memory_limit = memory_limit
        self.inputs = tuple(i.name for i in reading.inputs)
        self.outputs = tuple(reading.outputs)
        self.weights: dict[str, np.ndarray] = {
            n: w if w.flags.writeable else w.copy() for n, w in reading.weights.items()
        }
        arguments = {n: names.fresh(identifier(n)) for n in (*self.inputs, *self.weights)}
        self.function = ModelFunction(reading, identifier(name), arguments)

    def __repr__(self) -> str:
        return f"<{self.function.name}: {', '.join(self.inputs)} -> {', '.join(self.outputs)}>"

    def bound(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """Return all arguments of the function, by name.

        :raises ArgumentError: an input is missing, or there is none of that name.
        """
        if len(inputs) > len(self.inputs):
            raise ArgumentError(f"{self!r} takes {len(self.inputs)} inputs, and {len(inputs)} were given")
        given = dict(zip(self.inputs, inputs, strict=False))
        for name, value in named.items():
            if name not in self.inputs:
                raise NameNotFound("input", name, self.inputs)
            if name in given:
                raise ArgumentError(f"input '{name}' was given twice")
            given[name] = value
        if missing := [n for n in self.inputs if n not in given]:
            raise ArgumentError(f"input '{missing[0]}' is missing")
        self._check(given)
        return {
            self.function.arguments[n]: v for n, v in {**{n: given[n] for n in self.inputs}, **self.weights}.items()
        }

    def _check(self, given: Mapping[str, Any]) -> None:
        """Raise an error unless the inputs have the types and shapes that the model declares."""
        for info in self.reading.inputs:
            kind = info.type.tensor_type
            value = np.asarray(as_array(given[info.name]))
            if kind.elem_type:
                wanted = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
                if value.dtype != wanted:
                    raise ArgumentError(f"input '{info.name}' is {value.dtype}; the model takes {wanted}")
            if kind.HasField("shape"):
                dims = [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in kind.shape.dim]
                fits = len(dims) == value.ndim and all(
                    not isinstance(d, int) or d == n for d, n in zip(dims, value.shape, strict=False)
                )
                if not fits:
                    expected = ", ".join("?" if d is None else str(d) for d in dims)
                    raise ArgumentError(f"input '{info.name}' has shape {value.shape}; the model takes ({expected})")

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Return the outputs: one array for one, else a tuple; torch tensors if the arguments were."""
        arguments = self.bound(inputs, named)
        try:
            return self.function.run(arguments)
        except UnsupportedOperator:  # the model holds what cannot be generated
            given = {n: np.asarray(as_array(arguments[a])) for n, a in self.function.arguments.items()}
            return alike(evaluate(self.reading, self.outputs, given).values(), arguments)

    def record_call(self, recorder: Recorder, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Record a call in a function that is recorded."""
        shown = self.bound([*map(example, args)], {n: example(v) for n, v in kwargs.items()})
        given = dict(zip(self.inputs, args, strict=False)) | dict(kwargs)
        return record(self.function, recorder, shown, given, self.weights)

    def vjp(self, *inputs: Any, **named: Any) -> tuple[Any, Callable[..., dict[str, Any]]]:
        """Return the outputs, and the function from their cotangents to gradients by name, of inputs and weights.

        ``pullback(*cotangents)`` takes one for each output (None for integers, and where it is zero). What is no real
        number has the gradient None, and so has an input whose content decides shapes: the program is made for it.

        :raises DifferentiationError: what the outputs depend on cannot be differentiated; every reason, by operator.
        """
        arguments = self.bound(inputs, named)
        imported = self.function.graph(arguments)
        fixed = self.decided_by(imported)
        wanted = tuple(
            a for n, a in self.names.items() if n not in fixed and np.asarray(as_array(arguments[a])).dtype.kind == "f"
        )
        saved = {n: np.array(as_array(v)) for n, v in arguments.items()}
        tape = Forward(self.function, wanted, None, memory_limit=self.memory_limit, copied=True).run(saved)
        shapes = [shape for shape, _ in imported.results]
        outputs = alike([np.reshape(v, s) for v, s in zip(tape.outputs.values(), shapes, strict=True)], arguments)

        def pullback(*cotangents: Any) -> dict[str, Any]:
            if len(cotangents) != len(shapes):
                raise ArgumentError(f"expected {len(shapes)} cotangents, one for each output, found {len(cotangents)}")
            given: dict[str, Any] = {}
            for (n, value), own, c, shape in zip(tape.outputs.items(), self.outputs, cotangents, shapes, strict=True):
                if c is not None:
                    if value.dtype.kind not in "fc":
                        told = f"holds {value.dtype} numbers, which have no derivative: give None as its cotangent"
                        raise ArgumentError(f"output '{own}' {told}")
                    given[n] = matching(c, np.empty(shape, value.dtype), f"cotangent of {n}").reshape(np.shape(value))
            found = Backward(self.function, wanted)(tape, **given)
            kind = next((v for v in arguments.values() if is_tensor(v)), None)
            return {
                n: (found[a] if kind is None else like(np.asarray(found[a]), kind)) if a in found else None
                for n, a in self.names.items()
            }

        return outputs, pullback

    def decided_by(self, imported: Imported) -> set[str]:
        """Return the tensors whose content a graph is made for: they decide shapes.

        :raises DifferentiationError: real numbers that the model computes do.
        """
        problems = [
            Problem(f"{node.op_type} '{node.name}'", self._without_derivative(n))
            for node in (self.reading.graph.node if imported.decided else ())
            for n in node.output
            if imported.decided.get(n) == "f"
        ]
        if problems:
            raise DifferentiationError(problems)
        return set(imported.decided)

    def _without_derivative(self, name: str) -> str:
        """Return why a tensor that was computed before the program has no derivative."""
        if why := self.function.reasons.get(name):
            return f"'{name}' is computed by onnxruntime, and has no derivative: {why}"
        return f"'{name}' decides shapes, and has no derivative"

    def value_and_grad(
        self, loss: Callable[..., Any], wrt: str | Sequence[str] | None = None
    ) -> Callable[..., tuple[Any, Any]]:
        """A function that returns the value of a loss of the model's outputs, and its gradients.

        :param loss: a NumPy-style function ``loss(*outputs, *more)`` that returns a scalar.
        :param wrt: names of weights or inputs; all weights unless given.
        :returns: a callable with the model's inputs and then ``more`` (either by position or by name) that returns
            ``(value, gradients)``: a dict of gradients by name, or the gradient alone for a single name.
        """
        names = list(self.weights) if wrt is None else [wrt] if isinstance(wrt, str) else list(wrt)
        if unknown := [n for n in names if n not in self.function.arguments]:
            raise NameNotFound("weight or input", unknown[0], self.function.arguments)
        whole = WithLoss(self.function, loss, len(self.outputs))
        compute = value_and_grad(whole, wrt=[self.function.arguments[n] for n in names])

        def step(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
            own = {k: v for k, v in kwargs.items() if k not in whole.arguments}
            arguments = self.bound(args[: len(self.inputs)], own)
            if fixed := self.decided_by(self.function.graph(arguments)) & set(names):
                raise ArgumentError(f"'{min(fixed)}' decides shapes, and has no derivative; leave it out of wrt")
            more = dict(zip(whole.arguments, args[len(self.inputs) :], strict=False))
            more |= {k: v for k, v in kwargs.items() if k in whole.arguments}
            if missing := [n for n in whole.arguments if n not in more]:
                raise ArgumentError(f"argument '{missing[0]}' of the loss is missing")
            value, found = compute(**arguments, **{whole.arguments[n]: v for n, v in more.items()})
            gradients = dict(zip(names, found, strict=True))
            return value, gradients if wrt is None or several(wrt) else gradients[names[0]]

        return step

    @property
    def sdfg(self) -> dace.SDFG:
        """The model as a graph of operator nodes, for the shapes that the file declares.

        Dimensions that it leaves open are symbols. Arguments are called as :attr:`names` says.

        :raises UnsupportedOperator: an operator cannot be generated for shapes as open as these.
        """
        operands = {i.name: declared(i) for i in self.reading.inputs}
        operands |= {n: (w.shape, w.dtype) for n, w in self.weights.items()}
        importer = Importer(self.reading, operands, self.function.arguments, dict(self.reading.constants))
        try:
            return importer.run(self.function.name).sdfg
        except Unknown as reason:
            raise UnsupportedOperator("model", self.function.name, f"{reason}; call sdfg_for with inputs") from reason

    def sdfg_for(self, *inputs: Any, **named: Any) -> dace.SDFG:
        """The graph for inputs like these."""
        return self.function.graph(self.bound(inputs, named)).sdfg

    @property
    def names(self) -> Mapping[str, str]:
        """What inputs and weights are called in the graph, by their names in the model."""
        return self.function.arguments


def declared(info: onnx.ValueInfoProto) -> tuple[tuple[Any, ...], np.dtype]:
    """Return shape and type of an input; dimensions without a number are symbols."""
    kind = info.type.tensor_type
    dims = [
        d.dim_value if d.HasField("dim_value") else dace.symbol(identifier(d.dim_param or f"{info.name}_{k}"))
        for k, d in enumerate(kind.shape.dim)
    ]
    return tuple(dims), onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)


def load(
    model: str | os.PathLike | bytes | onnx.ModelProto, name: str = "", *, memory_limit: int | str | None = None
) -> Model:
    """Load a model from a file, from its content, or from ``onnx``'s object.

    :param memory_limit: the most memory that ``vjp`` and the pullback that it returns may take beside the arguments, as
        :func:`sdgrad.vjp` has it.
    :raises InvalidModel: it is corrupt, incomplete, or of a version that is not known.
    """
    reading = read(model)
    return Model(reading, name or reading.graph.name or "model", Limit.of(memory_limit))
