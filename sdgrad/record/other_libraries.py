"""Know what functions of JAX and PyTorch are called in NumPy, SciPy and Python."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from sdgrad.record.functions.on_demand import load_imported
from sdgrad.record.functions.table import FUNCTIONS

OTHERS = ("jax", "torch")
ROOMS = {
    "np": "numpy",
    "np.linalg": "numpy.linalg",
    "np.fft": "numpy.fft",
    "scipy.special": "scipy.special",
    "scipy.linalg": "scipy.linalg",
}
"""Where a function of the same name may be: how a program writes the module, and its name."""
PREFIXES = ("linalg_", "special_", "fft_")
"""What PyTorch puts before the names of functions of such modules."""
SPELLED = {
    **dict.fromkeys(("tensor", "as_tensor", "from_numpy"), "np.array"),
    "cat": "np.concatenate",
    **dict.fromkeys(("mm", "bmm", "mv"), "np.matmul"),
    "relu": "np.maximum(x, 0.0)",
    "sigmoid": "scipy.special.expit",
    "softplus": "np.logaddexp(x, 0.0)",
    **dict.fromkeys(("stop_gradient", "detach"), "sdgrad.stop_gradient"),
    **dict.fromkeys(("fori_loop", "scan", "map"), "a 'for' loop"),
    "while_loop": "a 'while' loop",
    **dict.fromkeys(("cond", "switch"), "'if' and 'else'"),
    "select": "np.where",
    **dict.fromkeys(("jit", "compile"), "the function itself, which is compiled"),
    **dict.fromkeys(("jacfwd", "jacrev"), "sdgrad.jacobian"),
    **{
        n: f"sdgrad.{n}" for n in ("grad", "value_and_grad", "vjp", "jvp", "hessian", "vmap", "linearize", "checkpoint")
    },
}
"""What has another name here."""


def here(function: Any) -> str:
    """Return what to write in place of a function of JAX or PyTorch; empty if there is nothing."""
    module = getattr(function, "__module__", None) or type(function).__module__
    if module.partition(".")[0] not in OTHERS:
        return ""
    name = getattr(function, "__name__", "")
    for prefix in PREFIXES:
        name = name.removeprefix(prefix)
    return SPELLED.get(name) or _of_the_same_name(name)


def _of_the_same_name(name: str) -> str:
    """Return the function of NumPy or SciPy that has this name and a derivative."""
    rooms = {shown: importlib.import_module(module) for shown, module in ROOMS.items()}
    load_imported()
    found = {shown: getattr(room, name, None) for shown, room in rooms.items()}
    return next((f"{shown}.{name}" for shown, f in found.items() if _has_a_rule(f)), "")


def _has_a_rule(function: Any) -> bool:
    return isinstance(function, np.ufunc) or callable(function) and function in FUNCTIONS
