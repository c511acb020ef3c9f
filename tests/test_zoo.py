"""Every program of the zoo: values as in NumPy, gradients as in JAX, a closed form or differences."""

import numpy as np
import pytest
from graphs import call, copied, differences, gradients, seeds, text
from programs import PROGRAMS, RAW_PROGRAMS
from references import Parts, assert_close, check

import sdgrad

UNPARSED: dict[str, str] = {}
"""Programs that DaCe's frontend cannot turn into a graph, with the reason."""

assert set(UNPARSED) <= {p.name for p in PROGRAMS}


PARSED = [p for p in PROGRAMS if p.name not in UNPARSED]
PARTS = Parts(PARSED)


@pytest.mark.parametrize("program", PARSED, ids=str)
def test_program(program):
    PARTS.compile(program)
    check(program)


# Raw graphs ------------------------------------------------------------------------------------------

REFUSED = [p for p in RAW_PROGRAMS if p.tags & {"refused", "refused-or-right"}]
GRAPHS = [p for p in RAW_PROGRAMS if p not in REFUSED]
SEVERAL = [p for p in GRAPHS if p.tags & {"inplace", "matmul", "control", "wcr", "view", "symbol"}]


def _start(program):
    """Values, cotangents of the outputs, the result, and the gradients by differences."""
    rng = np.random.default_rng(3)
    values = program.inputs(rng)
    cotangents = seeds(program.outputs, values, rng)
    wanted = differences(program.reference, values, program.wrt, cotangents)
    return values, cotangents, program.run(values), wanted


def _check(program, found, result, wanted, times=1):
    for name in program.outputs:
        assert_close(found[name], np.reshape(result[name], np.shape(found[name])), 1e-12, name)
    for name in program.wrt:
        factor = 1 if name in program.outputs else times
        assert_close(found[f"gradient_{name}"], factor * wanted[f"gradient_{name}"], 1e-7, f"gradient of {name}")


@pytest.mark.parametrize("program", GRAPHS, ids=str)
def test_graph(program):
    """Gradients are right, are added to at the second call, and outputs and cotangents stay what they were."""
    values, cotangents, result, wanted = _start(program)
    sdfg = program.build()
    assert sdgrad.add_backward_pass(sdfg, inputs=list(program.wrt), outputs=list(program.outputs)) is sdfg
    first = call(sdfg, {**gradients(program.wrt, values), **copied(values), **copied(cotangents)})
    _check(program, first, result, wanted)
    kept = {f"gradient_{n}": first[f"gradient_{n}"].copy() for n in program.wrt}
    second = call(sdfg, {**kept, **copied(values), **copied(cotangents)})
    _check(program, second, result, wanted, times=2)
    for name in set(program.outputs) - set(program.wrt):
        assert np.array_equal(second[f"gradient_{name}"], cotangents[f"gradient_{name}"])


@pytest.mark.parametrize("program", REFUSED, ids=str)
def test_refused_graph_is_left_alone(program):
    sdfg = program.build()
    before = text(sdfg)
    try:
        sdgrad.add_backward_pass(sdfg, inputs=list(program.wrt), outputs=list(program.outputs))
    except sdgrad.DifferentiationError:
        assert text(sdfg) == before
        return
    assert "refused-or-right" in program.tags
    values, cotangents, result, wanted = _start(program)
    _check(program, call(sdfg, {**gradients(program.wrt, values), **values, **cotangents}), result, wanted)


@pytest.mark.parametrize("program", SEVERAL, ids=str)
def test_graph_in_two_halves(program):
    """``separate_sdfgs``: what the backward graph takes is an argument or comes out of the forward graph."""
    values, cotangents, result, wanted = _start(program)
    forward = program.build()
    name = forward.name
    backward = sdgrad.add_backward_pass(forward, program.wrt, program.outputs, separate_sdfgs=True)
    assert backward is not forward and forward.name == name
    assert not any(n.startswith("gradient_") for n in forward.arglist())
    between = call(forward, copied(values), fill=True)
    assert set(backward.arglist()) <= {*between, *cotangents, *gradients(program.wrt, values)}
    found = call(backward, {**between, **gradients(program.wrt, values), **copied(cotangents)})
    _check(program, {**found, **{n: between[n] for n in program.outputs}}, result, wanted)


@pytest.mark.parametrize("program", SEVERAL[:6], ids=str)
def test_graph_in_the_words_of_daceml(program):
    """``state`` and access nodes mean the containers of these nodes."""
    values, cotangents, result, wanted = _start(program)
    sdfg = program.build()
    nodes = {n.data: n for state in sdfg.states() for n in state.data_nodes()}
    state = next(iter(sdfg.states()))
    sdgrad.add_backward_pass(
        sdfg=sdfg,
        state=state,
        inputs=[nodes[n] for n in program.wrt if n in nodes] + [n for n in program.wrt if n not in nodes],
        outputs=[nodes[n] for n in program.outputs],
    )
    _check(program, call(sdfg, {**gradients(program.wrt, values), **values, **cotangents}), result, wanted)


def test_the_extended_graph_is_one_that_dace_compiles_itself(tmp_path):
    program = next(p for p in GRAPHS if p.name == "raw_product_then_reduce")
    values, cotangents, result, wanted = _start(program)
    sdfg = sdgrad.add_backward_pass(program.build(), program.wrt, program.outputs)
    found = {**gradients(program.wrt, values), **values, **cotangents}
    with sdgrad.config.override(cache_dir=tmp_path), sdgrad.config.compiling():
        sdfg(**found)
    _check(program, found, result, wanted)
