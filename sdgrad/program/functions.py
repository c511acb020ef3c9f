"""Make a differentiated program a function again, which returns its gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from dace import data as dt
from dace import dtypes

from sdgrad.program.arrays import assign, fill
from sdgrad.program.descriptors import lasting
from sdgrad.program.naming import all_names, result_names, without_results
from sdgrad.program.rename import renamed
from sdgrad.program.tree import Container, Node, Program


def returning(
    program: Program, own: Sequence[str], results: Sequence[str], seeds: Sequence[str], zeros: Mapping[str, np.ndarray]
) -> Program:
    """Return the program as a function of ``own`` that returns ``results``, in order.

    :param own: the arguments that stay; the program's other arguments become local.
    :param results: containers, or names in ``zeros``.
    :param seeds: arguments that are one from here on.
    :param zeros: what results that are zero are like.
    """
    names = all_names(program)
    mapping = without_results(program, names)
    containers: dict[str, Container] = {}
    for name, container in program.containers.items():
        if name in program.arguments and name not in own:
            containers[mapping[name]] = container.local(mapping[name])
        else:
            base = mapping[container.view_of] if container.view_of else None
            containers[mapping[name]] = replace(container, name=mapping[name], view_of=base)
    before: list[Node] = [fill(containers[s], "1", names, f"seed_{s}") for s in seeds]
    after: list[Node] = []
    outputs = result_names(results)
    for name, output in zip(results, outputs, strict=True):
        if name in zeros:
            like = zeros[name]
            containers[output] = Container(output, dt.Array(dtypes.typeclass(like.dtype.type), list(like.shape) or [1]))
            after.append(fill(containers[output], "0", names, output))
        else:
            containers[output] = Container(output, lasting(containers[mapping[name]].desc, False))
            after.append(assign(containers[output], containers[mapping[name]], "set", names, output))
    body = renamed(program.body, mapping)
    return replace(program, containers=containers, body=(*before, *body, *after), arguments=(*own, *outputs))
