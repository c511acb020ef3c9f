"""ONNX models as functions that can be called and differentiated."""

from sdgrad.onnx.model import Model, load

__all__ = ["Model", "load"]
