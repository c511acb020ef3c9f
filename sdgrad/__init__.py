"""sdgrad: symbolic differentiation of dataflow graphs."""

import gc
import importlib
import warnings
from typing import TYPE_CHECKING, Any

_collects = gc.isenabled()
gc.disable()  # a collection looks at all that the imports have made so far, a quarter of their time
try:
    import sdgrad.backward_impls.communication
    import sdgrad.backward_impls.convolution
    import sdgrad.backward_impls.custom
    import sdgrad.backward_impls.fft
    import sdgrad.backward_impls.linalg
    import sdgrad.record.replacements  # noqa: F401
    import sdgrad.solvers  # which offers rules for parts of SciPy
    from sdgrad import errors, random, testing
    from sdgrad.api.backward_implementation import (
        BackwardContext,
        BackwardImplementation,
        register_backward,
        select_backward,
        unregister_backward,
    )
    from sdgrad.api.checkpoint import checkpoint
    from sdgrad.api.explain import explain
    from sdgrad.api.export import compile_gradient, export_c, load
    from sdgrad.api.forward import compile_forward
    from sdgrad.api.gradient import grad, value_and_grad
    from sdgrad.api.graph_function import from_sdfg
    from sdgrad.api.graphs import add_backward_pass, add_forward_tangent
    from sdgrad.api.jacobian import hessian, jacobian
    from sdgrad.api.jvp import hvp, jvp, linearize
    from sdgrad.api.memory_plan import memory_plan
    from sdgrad.api.recording import Trace, to_sdfg, trace
    from sdgrad.api.sparse import sparse_hessian, sparse_jacobian
    from sdgrad.api.vjp import vjp
    from sdgrad.api.vmap import vmap
    from sdgrad.config import config
    from sdgrad.errors import DifferentiationError, SdgradError
    from sdgrad.program.custom_rule import custom_jvp, custom_region, custom_vjp
    from sdgrad.record.callbacks import pure_callback
    from sdgrad.record.functions.detached import detach, stop_gradient
    from sdgrad.record.kept_results import checkpoint_name
    from sdgrad.runtime.call.result_pool import free_memory
    from sdgrad.runtime.compile.precompiled_header import prepare
    from sdgrad.specialize.forward_backward import Tape, zero_grad
    from sdgrad.symbolic.rows import ScalarRule
    from sdgrad.symbolic.scalar_rules import register as register_scalar_rule
finally:
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()  # what has been imported is old: the next collection of new objects need not look at it
    if _collects:
        gc.enable()
if TYPE_CHECKING:
    from sdgrad import onnx as onnx
    from sdgrad import torch as torch
    from sdgrad.solvers import fixed_point, linear_solve, minimize, root, solve_ivp
    from sdgrad.torch.module import Module as Module
    from sdgrad.torch.module import module as module

# DaCe warns of its own frontend, at every array slice; nothing a user could change.
warnings.filterwarnings("ignore", message="Using sets for connectors")

__version__ = "0.1.0"


_MODULES, _OF_TORCH = ("onnx", "torch"), ("Module", "module")
"""What needs packages of its own: no part of ``from sdgrad import *``."""


def _found(name: str) -> Any:
    """Import parts that need packages of their own, or parts of SciPy, when they are asked for."""
    if name in _MODULES:
        return importlib.import_module(f"sdgrad.{name}")
    if name in ("fixed_point", "linear_solve", "minimize", "root", "solve_ivp"):
        return getattr(sdgrad.solvers, name)
    if name in _OF_TORCH:
        return getattr(importlib.import_module("sdgrad.torch"), name)
    raise AttributeError(f"module 'sdgrad' has no attribute '{name}'")


if not TYPE_CHECKING:  # a type checker knows the names, and says which do not exist
    __getattr__ = _found


def __dir__() -> list[str]:
    """List the public names, and not the rooms that they come from."""
    return sorted([*__all__, *_MODULES, *_OF_TORCH, *(n for n in globals() if n.startswith("__"))])


__all__ = [
    "BackwardContext",
    "BackwardImplementation",
    "DifferentiationError",
    "ScalarRule",
    "SdgradError",
    "Tape",
    "Trace",
    "add_backward_pass",
    "add_forward_tangent",
    "checkpoint",
    "checkpoint_name",
    "compile_forward",
    "compile_gradient",
    "config",
    "custom_jvp",
    "custom_region",
    "custom_vjp",
    "detach",
    "errors",
    "explain",
    "export_c",
    "fixed_point",
    "free_memory",
    "from_sdfg",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "linear_solve",
    "linearize",
    "load",
    "memory_plan",
    "minimize",
    "prepare",
    "pure_callback",
    "random",
    "register_backward",
    "register_scalar_rule",
    "root",
    "select_backward",
    "solve_ivp",
    "sparse_hessian",
    "sparse_jacobian",
    "stop_gradient",
    "testing",
    "to_sdfg",
    "trace",
    "unregister_backward",
    "value_and_grad",
    "vjp",
    "vmap",
    "zero_grad",
]
