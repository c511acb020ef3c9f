"""Which of the functions JAX and HIPS autograd have: ``libraries.json``.

JAX's are looked up in the JAX that is installed (``python -m tests.modes.table --jax``). Those of autograd are those
to which its files ``numpy/numpy_vjps.py``, ``numpy/linalg.py``, ``numpy/fft.py`` and ``scipy/`` give a rule, and those
that it makes of these.
"""

from __future__ import annotations

import importlib
import inspect
import json
from functools import cache
from pathlib import Path
from typing import Any

from .sections import is_distribution, sections

FILE = Path(__file__).with_name("libraries.json")
LIBRARIES = ("JAX", "autograd")


@cache
def _lists() -> dict[str, Any]:
    return json.loads(FILE.read_text())


def version() -> str:
    """The version of JAX whose names are in the file."""
    return _lists()["JAX version"]


def has(library: str, module: str, name: str) -> bool:
    return name in names(library).get(module, ())


@cache
def names(library: str) -> dict[str, list[str]]:
    """The names of a library by their module."""
    return {module: text.split() for module, text in _lists()[library].items()}


def _jax_module(module: str) -> Any:
    import jax

    if module == "numpy.ufunc":
        return jax.numpy.add
    if module == "numpy.ndarray":
        return jax.numpy.zeros(1)
    try:
        return importlib.import_module(f"jax.{module}")
    except ImportError:
        return None


def look_up_jax() -> None:
    """Write down what the installed JAX has of the functions of the page."""
    import jax

    found: dict[str, list[str]] = {}
    for section in sections():
        own = _jax_module(section.module)
        present = [n for n in section.members if hasattr(own, n)]
        if any(is_distribution(f) for f in section.members.values()):
            present = [n for n in present if inspect.ismodule(getattr(own, n))]
        found[section.module] = sorted({*found.get(section.module, ()), *present})
    texts = {m: " ".join(n) for m, n in found.items() if n}
    lists = {**_lists(), "JAX version": jax.__version__, "JAX": texts}
    FILE.write_text(json.dumps(lists, indent=1, sort_keys=True) + "\n")
    for known in (_lists, names):
        known.cache_clear()
