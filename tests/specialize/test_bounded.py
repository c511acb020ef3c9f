"""A process that makes functions without end keeps a number of them."""

import numpy as np

from sdgrad.api import jvp
from sdgrad.autodiff.request import Request
from sdgrad.specialize import signature
from sdgrad.specialize.signature import Signature

X = np.linspace(0.2, 0.9, 5)


def powers(k):
    return lambda x: np.sum(x**k)


def test_the_oldest_functions_are_forgotten(monkeypatch):
    for name in ("_signatures", "_fixed", "_fits"):
        monkeypatch.setattr(signature, name, {})
    monkeypatch.setattr(signature, "MOST_FUNCTIONS", 3)
    functions = [powers(k) for k in range(2, 7)]
    made = [Signature.of(f, {"x": X}) for f in functions]
    assert list(signature._signatures) == functions[-3:]
    assert set(signature._fixed) <= set(functions[-3:]) and set(signature._fits) <= set(functions[-3:])
    assert Signature.of(functions[-1], {"x": X}) is made[-1]
    again = Signature.of(functions[0], {"x": X})
    assert again is not made[0] and str(again.program) == str(made[0].program)


def test_the_oldest_adjoints_are_forgotten_and_made_again(monkeypatch):
    signature._differentiated.clear()
    monkeypatch.setattr(signature, "MOST_DIFFERENTIATED", 2)
    made = [Signature.of(powers(k), {"x": X}) for k in range(2, 6)]
    request = Request(("x",), made[0].outputs)
    texts = [str(s.differentiated(request).program) for s in made]
    assert [len(s.results) for s in made] == [0, 0, 1, 1]
    assert str(made[0].differentiated(request).program) == texts[0]
    assert [len(s.results) for s in made] == [1, 0, 0, 1]


def test_gradients_of_products_are_forgotten(monkeypatch):
    monkeypatch.setattr(jvp, "MOST_FUNCTIONS", 2)
    monkeypatch.setattr(jvp, "_gradients", {})
    functions = [powers(k) for k in range(2, 6)]
    for f in functions:
        jvp._gradient(f, (0,))
    assert list(jvp._gradients) == [(f, (0,)) for f in functions[-2:]]
