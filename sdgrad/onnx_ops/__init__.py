"""ONNX's operators: library nodes ``ONNX<Operator>`` for graphs and programs, and how they are lowered."""

import sdgrad.backward_impls.onnx  # noqa: F401  (registers the adjoints of operators)
from sdgrad.onnx_ops import programs  # noqa: F401  (makes them callable in programs)
from sdgrad.onnx_ops.nodes import NODES, ONNXOp

globals().update({node.__name__: node for node in NODES.values()})
__all__ = ["ONNXOp", *(node.__name__ for node in NODES.values())]  # noqa: PLE0605
