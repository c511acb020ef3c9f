"""Run ONNX's own backend tests (``onnx.backend.base``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep

from sdgrad.onnx.model import Model, load


class Prepared(BackendRep):
    """A model that is ready to run."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs for inputs in the model's order (or one array for a single input)."""
        given = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        found = self.model(*[as_input(x) for x in given])
        return found if isinstance(found, tuple) else (found,)


def as_input(value: Any) -> np.ndarray:
    """What the tests give: arrays, or tensors of types that NumPy lacks."""
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


class SdgradBackend(Backend):
    """Runs models through sdgrad, on the CPU."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> Prepared:
        return Prepared(load(model))

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        return cls.prepare(model, device).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Sequence[Any],
        device: str = "CPU",
        outputs_info: Any = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Run one node on arrays."""
        arrays = [as_input(x) for x in inputs]
        described = [
            onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for n, a in zip((n for n in node.input if n), arrays, strict=True)
        ]
        graph = onnx.helper.make_graph(
            [node], "node", described, [onnx.ValueInfoProto(name=n) for n in node.output if n]
        )
        return cls.run_model(onnx.helper.make_model(graph), arrays, device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device == "CPU"


prepare, run_model, run_node = SdgradBackend.prepare, SdgradBackend.run_model, SdgradBackend.run_node
supports_device = SdgradBackend.supports_device
