"""Transpose the backward half of a call that has been made: the result is its tangent map."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from sdgrad.autodiff.differentiate import differentiate_program
from sdgrad.autodiff.request import Request
from sdgrad.autodiff.seeds import gradient_name, seed_name
from sdgrad.canonicalize.normal_form import normalize_again
from sdgrad.pipeline import compiled_program
from sdgrad.program.functions import returning
from sdgrad.program.naming import all_names, result_names, without_results
from sdgrad.program.rename import renamed_program
from sdgrad.program.tree import Program
from sdgrad.runtime.call.compiled_program import CompiledProgram
from sdgrad.specialize.compile_lock import making
from sdgrad.specialize.forward_backward import Tape
from sdgrad.tape.split import Halves


def linear_map(tape: Tape) -> Callable[[Mapping[str, np.ndarray]], list[np.ndarray]] | None:
    """Return the map from tangents of arguments to tangents of the outputs; None if the halves are one program."""
    halves, signature, request = tape.programs.halves, tape.signature, tape.request
    if halves is None:
        return None
    key = ("linear", request)
    with making:
        if key not in signature.halves:
            signature.halves[key] = _transposed(halves, signature.program, request)
    program, seeds, renaming = signature.halves[key]
    held = {renaming.get(n, n): v for n, v in {**tape.initial, **tape.arrays}.items()}
    fixed = {n: v for n, v in held.items() if n in program.descs or n in program.symbols}

    def push(tangents: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        given = {seeds[n]: t for n, t in tangents.items()}
        found = program({**fixed, **given}, sizes=tape.programs.sizes(tape.initial))
        return [found[n] for n in result_names(request.outputs)]

    return push


def _transposed(
    halves: Halves, primal: Program, request: Request
) -> tuple[CompiledProgram, dict[str, str], dict[str, str]]:
    """Return the program of the map, its arguments that are tangents, and other names of its containers.

    The map has results of its own, so that what the function returned is an argument under another name.
    """
    cotangents = [seed_name(o, primal, request) for o in request.outputs]
    gradients = {n: gradient_name(n, primal) for n in request.inputs}
    renaming = without_results(halves.backward, all_names(halves.backward))
    backward = normalize_again(renamed_program(halves.backward, renaming))
    present = [c for c in cotangents if c in backward.containers]
    turned = Request(tuple(present), tuple(gradients.values()), accumulate=False)
    program = differentiate_program(backward, turned).program
    seeds = {n: seed_name(g, backward, turned) for n, g in gradients.items()}
    taken = [n for n in backward.arguments if n not in {*cotangents, *gradients.values()}]
    results = [gradient_name(c, backward) for c in cotangents]
    zeros = {
        gradient_name(c, backward): np.zeros([int(n) for n in primal.containers[o].shape])
        for c, o in zip(cotangents, request.outputs, strict=True)
        if c not in present
    }
    whole = returning(program, [*taken, *seeds.values()], results, [], zeros)
    return compiled_program(replace(whole, name=f"{primal.name}_linear")), seeds, renaming
