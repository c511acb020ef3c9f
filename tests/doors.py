"""Programs as graphs, by every door: as DaCe simplifies them or not, in two halves, and after transformations.

``python tests/doors.py`` puts all programs through all doors, in an hour; names of programs choose some.
"""

from __future__ import annotations

import contextlib
import copy
import io
import math
import multiprocessing
import os
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from multiprocessing.connection import Connection

import dace
import numpy as np
from corpus import CORPUS
from dace import dtypes
from dace.config import set_temporary
from dace.transformation import dataflow, interstate
from programs import PROGRAMS, Program
from references import Run, assert_close, reference

import sdgrad
from sdgrad.errors import CompilationFailed
from sdgrad.lift.dace_functions import sizes_of
from sdgrad.lift.dace_programs import closure_of
from sdgrad.runtime.call.marshalling import evaluate_shape
from sdgrad.runtime.compile.cache import Library, compile_graphs

FUSED = (dataflow.MapFusion, interstate.LoopToMap)
INLINED = (
    interstate.InlineSDFG,
    interstate.StateFusion,
    interstate.LoopToMap,
    dataflow.MapCollapse,
    dataflow.MapFusion,
    dataflow.TrivialMapElimination,
)


ENOUGH = 64


class Unparsed(Exception):
    """DaCe makes no graph of a program."""


@dataclass(frozen=True)
class Door:
    """How a graph is made of a program, and differentiated.

    :param transformations: applied as often as they can be, one after the other.
    :param halves: forward and backward pass are two graphs.
    """

    name: str
    simplify: bool
    transformations: tuple[type, ...] = ()
    halves: bool = False

    def __str__(self) -> str:
        return self.name


DOORS = (
    Door("simplified", True),
    Door("plain", False),
    Door("halves", True, halves=True),
    Door("plain_halves", False, halves=True),
    Door("fused", True, FUSED),
    Door("inlined", False, INLINED),
)
EXPANDED = Door("expanded", True, (dataflow.MapExpansion, dataflow.MapToForLoop))


def quietly(function: Callable):
    """Call a function of DaCe's without its messages."""
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        return function()


def parsed(run: Run, door: Door) -> tuple[dace.SDFG, Mapping]:
    """The graph of a program, and the values of what it takes from outside.

    :raises Unparsed: DaCe's parser, or one of its transformations, fails.
    """
    program = dace.program(run.program.function)

    def made() -> dace.SDFG:
        with set_temporary("compiler", "lineinfo", value="python"):
            sdfg = program.to_sdfg(**copy.deepcopy(run.arguments), simplify=door.simplify)
            for one in door.transformations:
                sdfg.apply_transformations_repeated([one], validate=False)
        sdfg.validate()
        return sdfg

    try:
        sdfg = quietly(made)
    except Exception as error:  # of many kinds
        raise Unparsed(f"{type(error).__name__}: {str(error)[:300]}") from error
    if sdfg.callback_mapping or any(isinstance(d, dtypes.callback) for d in sdfg.symbols.values()):
        raise Unparsed("it calls back into Python")
    return sdfg, closure_of(program, sdfg)


def results_of(sdfg: dace.SDFG, program: Program) -> tuple[str, ...]:
    """The names of what a program returns and writes, in the order of ``Program.run``."""
    returned = [n for n, d in sdfg.arrays.items() if n.startswith("__return") and not d.transient]
    return (*sorted(returned, key=lambda n: int(n[len("__return_") :] or 0)), *program.mutates)


class Case:
    """One program by one door."""

    def __init__(self, run: Run, door: Door) -> None:
        """Make and differentiate the graph.

        :raises Unparsed: there is no graph.
        :raises SdgradError: it is refused.
        """
        self.run, self.door = run, door
        sdfg, self.closure = parsed(run, door)
        self.primal = copy.deepcopy(sdfg)
        self.results = results_of(sdfg, run.program)
        self.wrt = [w for w in run.wrt if w in sdfg.arrays]
        self.active = [n for n, c in zip(self.results, run.cotangents, strict=True) if c is not None]
        backward = sdgrad.add_backward_pass(sdfg, self.wrt, self.active, separate_sdfgs=door.halves)
        self.graphs = [sdfg, backward] if door.halves else [sdfg]
        self.sizes = sizes_of(run.program.function, run.arguments)

    def values(self) -> dict:
        """Arguments, closure, and cotangents."""
        found = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in self.run.arguments.items()}
        found |= {k: np.array(v) for k, v in self.closure.items()} | self.sizes
        for name, cotangent in zip(self.results, self.run.cotangents, strict=True):
            if cotangent is not None:
                desc = self.primal.arrays[name]
                shape = evaluate_shape(desc, self.sizes)
                assert math.prod(shape) == cotangent.size, f"value {name} has shape {shape}, not {cotangent.shape}"
                found[f"gradient_{name}"] = cotangent.reshape(shape).astype(desc.dtype.type)
        return found

    def check(self, libraries: Sequence[Library]) -> None:
        """Values equal NumPy's, gradients equal the reference's.

        :raises AssertionError: they do not.
        """
        values, cotangents = self.values(), dict(zip(self.results, self.run.cotangents, strict=True))
        for library in libraries:
            call(library, values)
        run, what = self.run, f"{self.run.program} by the door '{self.door}'"
        self.compare(values)
        wanted = reference(run)
        for name in run.wrt:
            found = values[f"gradient_{name}"] if name in self.wrt else np.zeros(np.shape(wanted[name]))
            found = found.reshape(np.shape(wanted[name]))
            assert_close(found, wanted[name], run.tolerance, f"gradient of {name} in {what}")
        for name in set(self.active) - set(self.wrt):
            found = values[f"gradient_{name}"]
            assert np.array_equal(found.ravel(), cotangents[name].astype(found.dtype).ravel()), f"seed of {name}"

    def compare(self, values: Mapping) -> None:
        """Compare values with NumPy's."""
        for name, wanted in zip(self.results, self.run.result, strict=True):
            found = np.asarray(values[name]).reshape(np.shape(wanted))
            assert_close(found, wanted, self.run.tolerance, f"value {name} of {self.run.program} by '{self.door}'")

    def check_plain(self) -> None:
        """Compare what DaCe itself computes with NumPy.

        :raises AssertionError: it differs.
        :raises CompilationError: DaCe makes no program of it.
        """
        values = self.values()
        try:
            library = compile_graphs([copy.deepcopy(self.primal)])[0]
        except CompilationFailed:
            with sdgrad.config.compiling():
                copy.deepcopy(self.primal).compile()
            return
        call(library, values)
        self.compare(values)


@dataclass(frozen=True)
class Outcome:
    """What became of a program by a door.

    :param status: ``equal``; ``wrong``; ``refused`` by an error of this library; ``unparsed``: DaCe makes no graph;
        ``dace``: what DaCe itself makes of the graph is wrong as well; ``broken``: any other error.
    """

    status: str
    message: str = ""


def outcomes(program: Program, doors: Sequence[Door] = DOORS) -> dict[str, Outcome]:
    """What becomes of a program by each door; its graphs are compiled together."""
    run = Run.of(program)
    found: dict[str, Outcome] = {}
    cases: dict[str, Case] = {}
    for door in doors:
        try:
            cases[door.name] = quietly(lambda door=door: Case(run, door))
        except Unparsed as error:
            found[door.name] = Outcome("unparsed", str(error))
        except sdgrad.SdgradError as error:
            found[door.name] = Outcome("refused", str(error))
        except Exception as error:
            found[door.name] = Outcome("broken", repr(error))
    with contextlib.suppress(Exception):  # all at once, if all can be compiled; the compiler renames what it is given
        compile_graphs([copy.deepcopy(g) for case in cases.values() for g in case.graphs])
    return {**found, **{name: _outcome(case) for name, case in cases.items()}}


def _outcome(case: Case) -> Outcome:
    """Compile, run and compare."""
    try:
        case.check(compile_graphs(case.graphs))
    except Exception as error:
        message = f"{type(error).__name__}: {str(error)[:2000]}"
    else:
        return Outcome("equal")
    try:
        case.check_plain()
    except Exception as error:
        return Outcome("dace", f"{str(error)[:300]}\n{message}")
    return Outcome("wrong" if message.startswith("AssertionError") else "broken", message)


def call(library: Library, values: dict) -> None:
    """Run a graph. Arguments that are missing start as zeros, and are written in place like the others."""
    for name, desc in library.arguments.items():
        # sizes of tapes that the graph itself computes: more is enough
        sizes = {str(s): values.get(str(s), ENOUGH) for s in desc.free_symbols}
        if name not in values:
            zeros = np.zeros(evaluate_shape(desc, sizes), desc.dtype.type)
            values[name] = zeros if isinstance(desc, dace.data.Array) else zeros.item()
        elif isinstance(desc, dace.data.Array) and sizes.keys() <= values.keys():
            values[name] = np.ascontiguousarray(values[name], desc.dtype.type).reshape(evaluate_shape(desc, sizes))
    library(values)


# All programs -----------------------------------------------------------------------------------------


def serve(pipe: Connection, folder: str) -> None:
    """Send what becomes of the programs whose names come through the pipe."""
    known = {p.name: p for p in (*PROGRAMS, *CORPUS)}
    with sdgrad.config.override(optimization_level=0, cache_dir=folder):
        while True:
            pipe.send(outcomes(known[pipe.recv()]))


def results(names: Sequence[str], timeout: float, folder: str) -> Iterator[tuple[str, dict[str, Outcome]]]:
    """What becomes of programs, in a process that is replaced if it dies or hangs."""
    worker = None
    for name in names:
        if worker is None:
            pipe, theirs = multiprocessing.Pipe()
            worker = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs, folder), daemon=True)
            worker.start()
            theirs.close()
        pipe.send(name)
        try:
            ended = not pipe.poll(timeout)
            yield name, {"": Outcome("broken", f"not done after {timeout} s")} if ended else pipe.recv()
        except EOFError:
            ended = True
            yield name, {"": Outcome("broken", "the process died")}
        if ended:
            worker.kill()
            worker = None


def main() -> None:
    """Print what differs: ``python tests/doors.py [names of programs]``."""
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", JAX_ENABLE_X64="1", JAX_PLATFORMS="cpu")
    names = sys.argv[1:] or [p.name for p in (*PROGRAMS, *CORPUS)]
    count: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for name, found in results(names, 180.0, folder):
            count.update(o.status for o in found.values())
            print(
                name,
                *(f"\n  {d}: {o.status}: {o.message}" for d, o in found.items() if o.status != "equal"),
                flush=True,
            )
    print(dict(count))
    sys.exit(bool(count["wrong"] or count["broken"]))


if __name__ == "__main__":
    main()
