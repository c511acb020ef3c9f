"""The engine on one page: from a graph and a request to a compiled gradient.

=============  ==============================================  ====================================================
step           call                                            takes and returns
=============  ==============================================  ====================================================
normal form    :func:`normalize`, the table ``NORMAL_FORM``    a graph; a :class:`Program`
differentiate  :func:`differentiate_program`                   a program and a :class:`Request`; the primal program
               (forward: :func:`push_tangents`)                with its tape, and the adjoint program
optimise       :func:`optimize`, the table ``PASSES``          a program; a program
compile        :func:`compile_together`                        programs; loaded libraries, from a cache by their
                                                               :func:`fingerprint`
  emit         :func:`emit`                                    a program that is not in the cache; a graph
call           :class:`CompiledProgram`                        arrays; arrays
=============  ==============================================  ====================================================

Every value between two steps is frozen and can be printed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import dace
from dace import data as dt

from sdgrad.analysis.definite_assignment import filled_in_parts
from sdgrad.analysis.loop_private import defined_first
from sdgrad.autodiff.differentiate import Differentiated, differentiate_program, push_tangents
from sdgrad.autodiff.request import Request
from sdgrad.canonicalize.normal_form import LIFTED, NORMAL_FORM, normalize
from sdgrad.config import config, declare_switches
from sdgrad.errors import ArgumentError
from sdgrad.memory.arena import without_others
from sdgrad.memory.limited import within
from sdgrad.optimize.passes import PASSES, optimize
from sdgrad.program.emit import emit
from sdgrad.program.fingerprint import fingerprint
from sdgrad.program.naming import plain_names
from sdgrad.program.passes import Target, run_passes, switches
from sdgrad.program.rename import renamed_program
from sdgrad.program.tree import Program, writes
from sdgrad.runtime.call.compiled_program import CompiledProgram, Slot
from sdgrad.runtime.call.persistent_workspace import allocate_once, keep_in_registers, keep_memory, kept_bytes
from sdgrad.runtime.compile.cache import Library, compile_together
from sdgrad.runtime.compile.wide_permutations import with_narrow_vectors

SWITCHES = (*switches(LIFTED), *switches(NORMAL_FORM), "checkpoints", *switches(PASSES), "simd-reductions")
"""Names that ``config.without`` may hold: the tables' passes, and a choice of the tape's and of the compiler's."""

declare_switches(SWITCHES)


def differentiate(sdfg: dace.SDFG, request: Request, stop: Collection[str] = ()) -> Differentiated:
    """Differentiate a graph in reverse mode: normal form, then adjoint."""
    return differentiate_program(normalize(sdfg, stop=stop), request)


def pushed(sdfg: dace.SDFG, request: Request, stop: Collection[str] = ()) -> Program:
    """Differentiate a graph in forward mode: normal form, then tangents."""
    return push_tangents(normalize(sdfg, stop=stop), request)


def to_graph(program: Program) -> dace.SDFG:
    """Optimise a program, and write it as a graph for DaCe to compile."""
    return _for_dace(optimize(program))


def to_limited_graph(sdfg: dace.SDFG, request: Request, stop: Collection[str] = ()) -> dace.SDFG:
    """Differentiate a graph within the request's limit of memory, optimise it, and write it as a graph again."""
    _, plan = within(normalize(sdfg, stop=stop), request, given=True)
    return _for_dace(plan.program)


def to_plain_graph(program: Program) -> dace.SDFG:
    """Write a program as a graph with no more than it needs to be run: every reduction begins, and has an order."""
    return _for_dace(run_passes(program, PASSES, Target(), switches(PASSES)))


def _for_dace(program: Program) -> dace.SDFG:
    """Write a program as a graph that DaCe compiles with its own options.

    :raises ArgumentError: an argument has a name that C++ does not accept.
    """
    spelled = plain_names(program)
    if named := [n for n in program.arguments if n in spelled]:
        raise ArgumentError(
            f"an argument of the graph is named '{named[0]}', which means something else in C++, in which DaCe writes "
            "graphs: give it another name"
        )
    return with_narrow_vectors(emit(renamed_program(program, spelled) if spelled else program))


@dataclass(frozen=True)
class Ready:
    """An optimised program, ready for the compiler: its graph is written when it is asked for.

    :param spelled: names that C++ does not accept, with their replacements.
    :param shown: somebody sees the graph, and may change it, before it is compiled: it has no C++ functions.
    """

    program: Program
    spelled: Mapping[str, str]
    shown: bool = False

    @staticmethod
    def of(program: Program, resident: bool = False) -> Ready:
        """Optimise a program, and write it as a graph.

        :param resident: the arguments are in the memory of the GPU.
        """
        return Ready.optimized(optimize(program, resident))

    @staticmethod
    def optimized(program: Program) -> Ready:
        """Take an optimised program."""
        spelled = plain_names(program)
        return Ready(renamed_program(program, spelled) if spelled else program, spelled)

    @staticmethod
    def within_limit(program: Program) -> Ready:
        """Take an optimised program that has a limit of memory."""
        return Ready.optimized(without_others(program))

    def to_show(self) -> Ready:
        """Return the program for somebody who looks at its graph."""
        return self if self.shown else replace(self, shown=True)

    @cached_property
    def sdfg(self) -> dace.SDFG:
        """Return the program as a graph."""
        sdfg = emit(self.program, outlines=not (config.debug or self.shown))
        keep_memory(sdfg)
        keep_in_registers(sdfg)
        allocate_once(sdfg)
        return sdfg

    @property
    def content(self) -> str:
        """Return a hash of all that the graph follows from."""
        return f"{fingerprint(self.program)} {kept_bytes()} {self.sdfg.hash_sdfg() if self.shown else ''}"

    @property
    def name(self) -> str:
        """Return the name of the program."""
        return self.program.name

    @property
    def on_device(self) -> bool:
        """True if the program has kernels for a GPU."""
        return any(c.desc.storage == dace.StorageType.GPU_Global for c in self.program.containers.values())

    def described(self, argument: str) -> dt.Data:
        """Return the descriptor of an argument: an array or a number of the program, or a symbol."""
        if argument in self.program.containers:
            return self.program.containers[argument].desc
        return dt.Scalar(self.program.symbols.get(argument, dace.int64))

    def loaded(self, library: Library) -> CompiledProgram:
        """Bind a loaded library to the arguments of the program."""
        written = frozenset(self.program.root(w) for node in self.program.body for w in writes(node))
        own = {s: n for n, s in self.spelled.items()}
        known = [(n, d) for n, d in library.arguments.items() if n in self.program.containers]
        defined = defined_first(self.program.body, self.program, self.program.arguments)
        defined |= filled_in_parts(self.program, set(self.program.arguments) & written - defined)
        slots = tuple(Slot.of(own.get(n, n), d, n in written, n in defined) for n, d in known)
        return CompiledProgram(library.symbols, library, slots, self.spelled)


def compiled(*ready: Ready) -> list[CompiledProgram]:
    """Compile graphs by one call of the compiler."""
    libraries = compile_together(ready)
    return [r.loaded(library) for r, library in zip(ready, libraries, strict=True)]


def compiled_program(program: Program) -> CompiledProgram:
    """Optimise and compile one program."""
    return compiled(Ready.of(program))[0]
