"""A fixed part of ONNX's own node tests; ``python -m tests.conformance.onnx`` runs all of them."""

import pytest
from conformance.cases import cases, gradient, run

COUNT, GRADED = 150, 24
_all = cases()
_step = len(_all) // COUNT
CHOSEN = _all[::_step][:COUNT]


@pytest.mark.parametrize("case", CHOSEN, ids=lambda c: c.name)
def test_forward(case):
    outcome = run(case, gradients=False)
    assert outcome.forward == "pass", outcome.forward


REAL = [c for c in _all[3 :: len(_all) // (2 * GRADED)] if c.model.graph.input and c.data_sets[0][0]][:GRADED]


@pytest.mark.parametrize("case", REAL, ids=lambda c: c.name)
def test_gradient(case):
    """Against differences of ONNX's reference implementation."""
    try:
        found = gradient(case)
    except Exception as error:  # noqa: BLE001 (a refusal is for what onnxruntime runs)
        found = str(error)
        assert "onnxruntime" in found or "no such" in found, found
    assert not found.startswith("wrong"), found
