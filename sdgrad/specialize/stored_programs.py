"""Store how compiled programs are called, by what they were made from: the passes between need not run a second time.

The files lie beside the compiled programs, and hold names, types and shapes, as JSON.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

import dace
import numpy as np
import sympy
from dace import data as dt

from sdgrad.config import config, device
from sdgrad.machine.free_memory import Answers
from sdgrad.program import registry
from sdgrad.program.custom_call import CustomCall, walk_into_calls
from sdgrad.program.fingerprint import fingerprint
from sdgrad.program.tree import NodeCall, Program
from sdgrad.runtime.call.compiled_program import CompiledProgram, Slot
from sdgrad.runtime.compile.cache import hash_of_sources, library_of, settings_of_code
from sdgrad.runtime.compile.cache_folder import cache_folder
from sdgrad.runtime.compile.python_call import CallsPython
from sdgrad.symbolic.scalar_rules import rules_of_users
from sdgrad.tape.checkpoints import most_bytes

FOLDER = "made"
ELSEWHERE = frozenset({"cache_dir", "disk_folder", "progress", "verify", "check_indices", "checked", "without", "blas"})
"""Settings that change no program, or that the settings of all code hold."""
TYPES = {
    t.to_string(): t
    for t in (
        *(dace.bool_, dace.int8, dace.int16, dace.int32, dace.int64, dace.uint8, dace.uint16, dace.uint32, dace.uint64),
        *(dace.float16, dace.float32, dace.float64, dace.complex64, dace.complex128),
    )
}
NOTHING: Mapping[str, Any] = MappingProxyType({})
HOST = (dace.StorageType.Default, dace.StorageType.Register, dace.StorageType.CPU_Heap)


@dataclass(frozen=True)
class Stored:
    """Programs that were made before, and what else a call has to know."""

    programs: Sequence[CompiledProgram]
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Origin:
    """What programs are made from, by a hash.

    :param key: of the program, the request, the settings, and all sources of this package.
    """

    key: str

    @staticmethod
    def of(program: Program, *asked: Any) -> Origin | None:
        """Return the origin of what is made of a program; None if something of it has no text.

        :param asked: what it is differentiated by, and how.
        """
        calls = (n for n in walk_into_calls(program.body) if isinstance(n, NodeCall))
        if program.callback_mapping or any(map(_is_opaque, calls)):
            return None
        settings = [(f.name, getattr(config, f.name)) for f in fields(config) if f.name not in ELSEWHERE]
        around = _surroundings(), settings_of_code(), settings, device(), rules_of_users()
        text = repr((fingerprint(program), around, asked))
        return Origin(hashlib.sha256(text.encode()).hexdigest()[:32])

    @property
    def path(self) -> Path:
        """Return the file that says what was made."""
        return cache_folder() / FOLDER / f"{self.key}.json"

    def restored(self, count: int = 1) -> Stored | None:
        """Return what was made before; None if nothing was, or if other programs would be made now.

        :param count: of programs that are made together.
        """
        try:
            found = json.loads(self.path.read_text())
            fitted, refused = int(found["fitted"]), found["refused"]
            if not Answers(fitted, math.inf if refused is None else int(refused)).hold(most_bytes()):
                return None
            programs = [p for told in found["programs"] if (p := _program(told)) is not None]
            return Stored(programs, dict(found["facts"])) if len(programs) == count else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def store(self, programs: Sequence[CompiledProgram], answers: Answers, facts: Mapping[str, Any] = NOTHING) -> None:
        """Store how programs are called, if that can be told; a folder that cannot be written holds nothing.

        :param answers: what was decided by the memory that was free.
        :param facts: what else a call has to know, as JSON has it.
        """
        told = [_told(p) for p in programs]
        if not all(told):
            return
        refused = None if answers.refused == math.inf else answers.refused
        text = json.dumps({"fitted": answers.fitted, "refused": refused, "programs": told, "facts": dict(facts)})
        part = self.path.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):
            part.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(text)
            part.replace(self.path)


@functools.cache
def _surroundings() -> tuple[Any, ...]:
    """Return what else the passes follow from: their sources, the packages that they use, and the machine."""
    return hash_of_sources(""), dace.__version__, sympy.__version__, np.__version__, os.cpu_count()


def _is_opaque(call: NodeCall) -> bool:
    """True for a call whose derivative, or whose code, is a function of Python's, which has no text."""
    if isinstance(call, CustomCall) and call.rule is not None and (call.rule.functions or call.rule.of_some):
        return True
    return isinstance(call.node, CallsPython) or call.kind in registry.OF_USERS


def _told(program: CompiledProgram) -> dict[str, Any] | None:
    """Return what there is to know of a compiled program; None if it takes more than arrays and numbers of one size."""
    library = program.library
    arguments = {n: _described(d) for n, d in library.arguments.items()}
    if not all(arguments.values()) or any(s.shape is None for s in program.slots):
        return None
    slots = [(s.name, program.spelled.get(s.name, s.name), s.copied, s.defined) for s in program.slots]
    return {"library": library.name, "arguments": arguments, "slots": slots, "spelled": dict(program.spelled)}


def _described(desc: dt.Data) -> tuple[str, str, list[int]] | None:
    """Return the kind, type and shape of an argument; None if that is not all there is to it."""
    kind = {dt.Array: "array", dt.Scalar: "number"}.get(type(desc))
    shape = [n for n in desc.shape if str(n).isdigit()]
    plain = kind is not None and desc.storage in HOST and TYPES.get(desc.dtype.to_string()) == desc.dtype
    if not plain or len(shape) != len(desc.shape):
        return None
    found = str(kind), desc.dtype.to_string(), [int(n) for n in shape]
    return found if list(desc.strides) == list(_descriptor(*found).strides) else None


def _descriptor(kind: str, dtype: str, shape: Sequence[int]) -> dt.Data:
    """Return the descriptor of an argument."""
    return dt.Array(TYPES[dtype], list(shape)) if kind == "array" else dt.Scalar(TYPES[dtype])


def _program(told: Mapping[str, Any]) -> CompiledProgram | None:
    """Return a compiled program; None if its library is gone."""
    arguments = {n: _descriptor(*d) for n, d in told["arguments"].items()}
    library = library_of(told["library"], arguments)
    if library is None:
        return None
    slots = [Slot.of(name, arguments[spelled], copied, defined) for name, spelled, copied, defined in told["slots"]]
    return CompiledProgram(library.symbols, library, tuple(slots), told["spelled"])
