"""Which functions of NumPy a program calls that the frontend does not know: DaCe's own messages do not name them."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable

import numpy as np
from dace.frontend.common import op_repository


def unknown_functions(function: Callable) -> list[str]:
    """``line 6: np.sort``, in the order of the text."""
    first = inspect.getsourcelines(function)[1]
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    modules = {n: v for n, v in function.__globals__.items() if inspect.ismodule(v)}
    found = []
    for node in ast.walk(tree):
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


def _is_type(path: list[str]) -> bool:
    return len(path) == 1 and isinstance(getattr(np, path[0], None), type)
