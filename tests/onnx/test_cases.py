"""A fixed part of ONNX's own node tests; ``python -m tests.conformance.onnx`` runs all of them.

They are numbered: to make them takes ten seconds, which only the processes that run some of them should need.
"""

import functools

import pytest
from conformance.cases import cases, gradient, run

COUNT, GRADED = 150, 24
all_cases = functools.cache(cases)


@functools.cache
def with_gradient():
    found = all_cases()[3 :: len(all_cases()) // (2 * GRADED)]
    return [c for c in found if c.model.graph.input and c.data_sets[0][0]]


@pytest.mark.parametrize("number", range(COUNT))
def test_forward(number):
    case = all_cases()[number * (len(all_cases()) // COUNT)]
    outcome = run(case, gradients=False)
    assert outcome.forward == "pass", f"{case.name}: {outcome.forward}"


@pytest.mark.parametrize("number", range(GRADED))
def test_gradient(number):
    """Against differences of ONNX's reference implementation."""
    case = with_gradient()[number]
    try:
        found = gradient(case)
    except Exception as error:  # noqa: BLE001 (a refusal is for what onnxruntime runs)
        found = str(error)
        assert "onnxruntime" in found or "no such" in found, f"{case.name}: {found}"
    assert not found.startswith("wrong"), f"{case.name}: {found}"


@pytest.mark.parametrize("name", ["test_attention_4d_gqa", "test_attention_3d_gqa_softcap"])
def test_arrays_of_one_map_stay_as_they_are(name):
    """Heads that share keys: arrays inside of a map were laid out anew outside of it only."""
    (case,) = (c for c in all_cases() if c.name == name)
    outcome = run(case, gradients=True)
    assert (outcome.forward, outcome.gradient) == ("pass", "pass")
