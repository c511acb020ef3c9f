"""Which functions of NumPy, and of this package, a program calls that the frontend does not know.

DaCe's own messages do not name them.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from dace.frontend.common import op_repository

from sdgrad.frontend.regions import known_values, value_of

DERIVED = {"grad", "value_and_grad", "jacobian", "hessian", "vmap"}
"""Functions of this package that programs may call, for a function that is known before the program runs."""


def unknown_functions(function: Callable) -> list[str]:
    """``line 6: np.sort``, in the order of the text."""
    first = inspect.getsourcelines(function)[1]
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    modules = {n: v for n, v in function.__globals__.items() if inspect.ismodule(v)}
    found = []
    known = known_values(function)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (problem := _of_this_package(node, known)) is not None:
            found.append((node.lineno, f"line {first + node.lineno - 1}: {problem}"))
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        text = ast.unparse(node.func)
        module, *path = text.split(".")
        if modules.get(module) is not np:
            continue
        full = ".".join(["numpy", *path])
        is_ufunc = isinstance(getattr(np, path[0], None), np.ufunc)
        if op_repository.Replacements.get(full) is None and not is_ufunc and not _is_type(path):
            found.append((node.lineno, f"line {first + node.lineno - 1}: {text}"))
    return [text for _, text in sorted(found)]


def _of_this_package(call: ast.Call, known: Mapping[str, Any]) -> str | None:
    """What is wrong with the call of a function of this package, inside of a program."""
    value = value_of(call.func, known)
    name = getattr(value, "__name__", "")
    if not inspect.isfunction(value) or not value.__module__.startswith("sdgrad."):
        return None
    if name in DERIVED and call.args and value_of(call.args[0], known) is None:
        return f"{ast.unparse(call)}, which differentiates a function that the program makes; use a global one"
    if name.startswith("_") or name in DERIVED | {"stop_gradient", "custom_region"}:
        return None
    return f"{ast.unparse(call.func)}; programs call {', '.join(sorted(DERIVED))} of a global function"


def _is_type(path: list[str]) -> bool:
    return len(path) == 1 and isinstance(getattr(np, path[0], None), type)
