"""Save gradient programs to files, load them without compiling, or export them for C."""

from __future__ import annotations

import builtins
import inspect
import json
import os
import platform
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import dace
import numpy as np
from dace import data as dt
from numpy.linalg import LinAlgError

from sdgrad.api.compiled_for import CompiledFor
from sdgrad.api.gradient import GradFunction, value_and_grad
from sdgrad.autodiff.seeds import gradient_name, seed_name
from sdgrad.convert.callables import bind_arguments, name_of, python_function
from sdgrad.errors import ArgumentError
from sdgrad.machine.processor import instruction_sets, missing
from sdgrad.program.tree import Source
from sdgrad.record.index_limits import IndexLimit, check_limits
from sdgrad.record.shown import short
from sdgrad.runtime.call.checks import LAST, Checks
from sdgrad.runtime.call.compiled_program import CompiledProgram, Slot
from sdgrad.runtime.call.marshalling import as_array, like
from sdgrad.runtime.compile.c_export import export
from sdgrad.runtime.compile.cache import Library
from sdgrad.runtime.compile.cache_folder import cache_folder, writing
from sdgrad.specialize.argnums import Wrt, several
from sdgrad.specialize.arguments import Call
from sdgrad.specialize.communicating import refuse_communication
from sdgrad.specialize.signature import conditions_on_integers, fixed_arguments
from sdgrad.symbolic.expr import to_expr

FORMAT = 8


@dataclass(frozen=True)
class Layout:
    """Say what the arguments of a saved program are for, by their names in the graph."""

    name: str
    parameters: tuple[str, ...]  # of the function
    output: str
    seed: str
    gradients: Mapping[str, str | None]  # by argument; None: it has no influence
    several: bool


@dataclass(frozen=True)
class GradientProgram:
    """Compute value and gradient for arguments of certain shapes and dtypes: a compiled program by itself."""

    layout: Layout
    program: CompiledProgram
    closure: Mapping[str, np.ndarray | Checks]
    made_for: CompiledFor
    limits: tuple[IndexLimit, ...] = ()  # of index arrays among the arguments

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Return ``(value, gradient)``, as the function that was compiled does.

        :raises IndexError: an index reaches outside of what it indexes.
        :raises Exception: what the function raises by data.
        """
        layout = self.layout
        if len(args) > len(layout.parameters) or (unknown := [n for n in kwargs if n not in layout.parameters]):
            what = f"{len(args)} arguments" if len(args) > len(layout.parameters) else f"argument '{unknown[0]}'"
            raise ArgumentError(f"{layout.name} takes {', '.join(layout.parameters)}, found {what}")
        given = self.made_for.complete(layout.name, {**dict(zip(layout.parameters, args, strict=False)), **kwargs})
        known = {**self.program.descs, **dict.fromkeys(self.program.symbols)}
        if missing := [n for n in layout.parameters if n not in given and n in known]:
            raise ArgumentError(f"{layout.name}: argument '{missing[0]}' is missing")
        check_limits(self.limits, given)
        seed = {layout.seed: np.ones(1, self.program.descs[layout.seed].dtype.type)}
        found = self.program({**{n: v for n, v in given.items() if n in known}, **self.closure, **seed})
        gradients = tuple(self.gradient(n, found, given) for n in layout.gradients)
        return found[layout.output].reshape(())[()], gradients if layout.several else gradients[0]

    def gradient(self, name: str, found: Mapping[str, np.ndarray], given: Mapping[str, Any]) -> Any:
        container = self.layout.gradients[name]
        original = np.asarray(as_array(given[name]))
        array = np.zeros_like(original) if container is None else found[container].reshape(original.shape)
        return like(array, given[name])

    def save(self, path: str | Path) -> Path:
        """Write the program to one file. It holds machine code for this kind of processor.

        :returns: the path, for :func:`load`.
        """
        library = self.program.library
        facts = {
            "format": FORMAT,
            "machine": platform.machine(),
            "instruction_sets": sorted(instruction_sets()),
            "layout": {**vars(self.layout), "gradients": dict(self.layout.gradients)},
            "library": {"name": library.name, "initial": library.initial},
            "arguments": {n: _written(d) for n, d in library.arguments.items()},
            "slots": [{"name": s.name, "copied": s.copied, "defined": s.defined} for s in self.program.slots],
            "spelled": dict(self.program.spelled),
            "symbols": sorted(self.program.symbols),
            "checks": {n: [*map(_named, c.errors)] for n, c in self.closure.items() if isinstance(c, Checks)},
            "made_for": self.made_for.written(),
            "limits": [(x.name, x.extent, x.axis, x.certain, x.least, x.left_out) for x in self.limits],
        }
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("facts.json", json.dumps(facts))
            archive.write(library.path, "library.so")
            for name, array in self.closure.items():
                if isinstance(array, Checks):
                    continue
                content = BytesIO()
                np.save(content, array)
                archive.writestr(f"closure/{name}.npy", content.getvalue())
        return Path(path)


def load(path: str | Path) -> GradientProgram:
    """Load a gradient program that was saved; nothing is compiled.

    :raises ArgumentError: the file is not one, or one of another kind of processor.
    :raises DiskError: its library cannot be written to the folder of compiled programs.
    """
    facts, code, closure = _opened(path)
    target = cache_folder() / "loaded" / f"{facts['library']['name']}.so"
    with writing():
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != code:
            part = target.with_suffix(f".{os.getpid()}")
            part.write_bytes(code)
            part.replace(target)
    arguments: dict[str, dt.Data] = {n: _read(d) for n, d in facts["arguments"].items()}
    library = Library(str(target), facts["library"]["name"], arguments, facts["library"]["initial"])
    spelled = facts["spelled"]
    slots = tuple(
        Slot.of(s["name"], arguments[spelled.get(s["name"], s["name"])], s["copied"], s["defined"])
        for s in facts["slots"]
    )
    closure |= {n: Checks([_error(*e) for e in errors]) for n, errors in facts["checks"].items()}
    layout = facts["layout"]
    layout["parameters"] = tuple(layout["parameters"])
    program = CompiledProgram(frozenset(facts["symbols"]), library, slots, spelled)
    limits = tuple(IndexLimit(name, extent, axis, Source(), *rest) for name, extent, axis, *rest in facts["limits"])
    return GradientProgram(Layout(**layout), program, closure, CompiledFor.read(facts["made_for"]), limits)


def _written(desc: dt.Data) -> dict[str, Any]:
    """Return a descriptor as plain data."""
    shape, strides = (list(map(str, x)) for x in (desc.shape, desc.strides)) if isinstance(desc, dt.Array) else ([], [])
    return {"dtype": np.dtype(desc.dtype.type).name, "shape": shape, "strides": strides}


def _opened(path: str | Path) -> tuple[dict[str, Any], bytes, dict[str, Any]]:
    """Return what a file tells of its program, the library, and the arrays of the closure.

    :raises ArgumentError: the file is not one, or its library does not run here.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            facts = json.loads(archive.read("facts.json"))
            code = archive.read("library.so")
            names = [n for n in archive.namelist() if n.startswith("closure/")]
            closure: dict[str, Any] = {Path(n).stem: np.load(BytesIO(archive.read(n))) for n in names}
    except (zipfile.BadZipFile, KeyError, json.JSONDecodeError) as error:
        raise ArgumentError(f"{path} is no saved gradient program: {error}") from error
    if facts["format"] != FORMAT:
        raise ArgumentError(f"{path} has format {facts['format']}, this version of sdgrad reads {FORMAT}")
    if lacking := missing(facts["machine"], facts["instruction_sets"]):
        raise ArgumentError(
            f"{path} was saved on another kind of processor: this one lacks {', '.join(lacking)}. Compile the gradient "
            "and save it here"
        )
    return facts, code, closure


def _read(facts: Mapping[str, Any]) -> dt.Data:
    """Return the descriptor that plain data describe."""
    dtype = dace.dtypes.dtype_to_typeclass(np.dtype(facts["dtype"]).type)
    if not facts["shape"]:
        return dt.Scalar(dtype)
    shape, strides = ([to_expr(n) for n in facts[k]] for k in ("shape", "strides"))
    return dt.Array(dtype, shape, strides=strides)


@short
def compile_gradient(f: Callable, *args: Any, wrt: Wrt = 0, **kwargs: Any) -> GradientProgram:
    """Compile value and gradient of ``f`` for arguments like these, as a program to save and export.

    :param f: a function that returns one scalar, as for :func:`~sdgrad.value_and_grad`.
    :param wrt: as there.
    :returns: a callable with ``f``'s parameters, for arguments of the same shapes and dtypes. What of them is a part of
        the program, as a text that decides what is computed, can be left out, and is refused if it is another one. What
        ``f`` reads besides its arguments stays as it was.
    :raises ArgumentError: it calls Python functions of this process (:func:`~sdgrad.pure_callback`), or takes a nest.
    """
    question = value_and_grad(f, wrt)
    assert isinstance(question, GradFunction)
    arguments = bind_arguments(f, args, kwargs)
    for name in Call.of(f, args, kwargs).nests:
        kind = type(arguments[name]).__name__
        raise ArgumentError(
            f"argument '{name}' is a {kind}: programs to save take arrays and numbers, one for each part"
        )
    signature, names, output, request = question.question(arguments)
    refuse_communication(signature, "it belongs to the processes that recorded it, and cannot be saved or exported")
    program = signature.gradient(request).program
    if program.library.calls_python:
        raise ArgumentError(f"{name_of(f)} calls Python at run time: it cannot be saved or exported")
    normalized = signature.program
    parameters = inspect.signature(python_function(f)).parameters
    layout = Layout(
        name_of(f),
        tuple(parameters),
        output,
        seed_name(output, normalized, request),
        {n: gradient_name(n, normalized) if n in request.inputs else None for n in names},
        several(wrt),
    )
    now = signature.now()
    closure = {n: v if isinstance(v, Checks) else np.asarray(as_array(v)) for n, v in now.items()}
    defaults = {n: p.default for n, p in parameters.items() if p.default is not p.empty}
    taken = {*program.descs, *program.symbols}
    fixed = fixed_arguments(f, arguments)
    made_for = CompiledFor.of(arguments, fixed, taken, defaults, conditions_on_integers(f))
    return GradientProgram(layout, program, closure, made_for, signature.limits)


def export_c(f: Callable, folder: str | Path, *args: Any, wrt: Wrt = 0, **kwargs: Any) -> Path:
    """Write ``f`` and its gradient as a shared library and a C header, for arguments like these.

    The header declares ``<f>`` and ``<f>_value_and_grad``; arrays are dense, in C order, and owned by the caller. They
    may be called from several threads. What the library needs besides the C and C++ runtime (OpenBLAS, if there are
    matrix products) is found where it is here. What of the arguments is a part of the program, as a text that decides
    what is computed, the functions do not take: the header says what it is. Index arrays among the arguments are not
    checked, the caller does that; of what else the function checks, a call leaves the number of the first check that
    failed in ``sdgrad_status``.

    :returns: the header.
    :raises ArgumentError: an argument has a type that C has not (``float16``), or it calls special functions of SciPy.
    """
    compiled = compile_gradient(f, *args, wrt=wrt, **kwargs)
    if compiled.program.library.calls_scipy:
        raise ArgumentError(
            f"{name_of(f)} calls special functions of SciPy, which only Python finds: it can be saved, and not exported"
        )
    arguments = bind_arguments(f, args, kwargs)
    signature = value_and_grad(f, wrt).question(arguments)[0]  # type: ignore[union-attr]
    layout = compiled.layout
    functions = {
        layout.name: (signature.primal().library, layout.parameters, {layout.output: "value"}, None),
        f"{layout.name}_value_and_grad": (
            compiled.program.library,
            layout.parameters,
            {layout.output: "value", **{c: f"gradient_{n}" for n, c in layout.gradients.items() if c is not None}},
            layout.seed,
        ),
    }
    checks = {n: c for n, c in compiled.closure.items() if isinstance(c, Checks)}
    values = {n: v.text for n, v in compiled.made_for.values.items()}
    return export(layout.name, Path(folder), functions, {n: _numbered(c) for n, c in checks.items()}, values)


def _named(error: BaseException) -> tuple[str, str]:
    """Return an exception as its type's name and its text."""
    return type(error).__name__, str(error)


def _error(kind: str, text: str) -> BaseException:
    """Return an exception of a type of Python's or NumPy's; others become ``RuntimeError``s."""
    found = LinAlgError if kind == LinAlgError.__name__ else getattr(builtins, kind, None)
    if isinstance(found, type) and issubclass(found, Exception):
        return found(text)
    return RuntimeError(f"{kind}: {text}")


def _numbered(checks: Checks) -> str:
    """Return what a C program has to know of the number of a failed check."""
    told = [f"{LAST - k}: {kind} {text}".strip() for k, (kind, text) in enumerate(map(_named, checks.errors))]
    return "\n".join(["zero before a call; after it the number of the first check that failed, if any did", *told])
