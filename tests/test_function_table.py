"""``docs/functions.md`` is what ``python -m tests.modes.table`` writes, and its facts are those of the rules."""

from operator import attrgetter

import numpy as np
import pytest
import scipy
import scipy.special
from modes.registered import PLACES, registered
from modes.table import notes, page
from modes.table.facts import Facts, gradient_of, lines_of, of_function, rows
from modes.table.libraries import has, names
from modes.table.sections import NO_RULE_NEEDED, sections

ROWS = {(s.title, f.name): f for s in sections() for f in rows(s)}


def row(title: str, name: str) -> Facts:
    return ROWS[title, name]


def test_page_is_up_to_date():
    text = page.PAGE.read_text()
    if not all(f"{name} {m.__version__}" in text for name, m in (("NumPy", np), ("SciPy", scipy))):
        pytest.skip("the page is of other versions")
    assert text == page.page(), "run: python -m tests.modes.table"


def test_every_registered_function_has_a_row():
    here = {name for (_, name), found in ROWS.items() if found.here or found.notes}
    functions = {n: ways for n, ways in registered().items() if n.rpartition(".")[0] in PLACES}
    apart = ("math.", "cmath.", "sdgrad.")
    of_numpy = {n: attrgetter(n.removeprefix("np."))(np) for n in functions if n.startswith("np.")}
    types = {n for n, found in of_numpy.items() if isinstance(found, type)}
    lacking = [n for n in functions if not n.startswith(apart) and n not in types and n.rpartition(".")[2] not in here]
    assert lacking == []


@pytest.mark.parametrize(
    ("title", "name", "gradient"),
    [
        ("numpy", "sin", "yes"), ("numpy", "angle", "yes"), ("numpy", "argsort", "value only"),
        ("numpy", "packbits", ""), ("numpy", "maximum", "yes"),
        ("numpy", "arange", "constants only"), ("numpy", "frompyfunc", ""), ("numpy", "vectorize", "yes"),
        ("methods of arrays", "sort", "yes"), ("methods of arrays", "argmax", "value only"),
        ("methods of universal functions", "reduceat", "yes"), ("scipy.stats: distributions", "skewnorm", "yes"),
        ("scipy.spatial.distance", "euclidean", "yes"), ("scipy.interpolate", "CubicSpline", "yes"),
    ],
)  # fmt: skip
def test_gradients(title, name, gradient):
    assert row(title, name).gradient == gradient


def test_orders_and_unknown_derivatives():
    assert row("scipy.special", "jv").notes[0] == "no derivative by argument 1"
    assert row("scipy.special", "hyp2f1").notes[0] == "no derivative by arguments 1, 2, 3"
    assert row("scipy.special", "stdtr").orders == "any, first by argument 1"
    assert notes.unknown_arguments(scipy.special.gammainc) == {}


def test_refusals_are_those_of_the_rules():
    assert any("nan_policy=" in n for n in row("scipy.stats", "describe").notes)
    assert "kink: 0 at 0" in row("numpy", "abs").notes
    assert any("[limits]" in n for n in row("numpy", "unique").notes)


def test_parameters_that_a_rule_leaves_out():
    def theirs(a, axis=None, weights=None):
        return a

    def own(a, axis=None):
        return a

    assert notes.left_out(theirs, own) == ["weights"]
    assert notes.left_out(theirs, lambda a, axis=None, weights=None: a) == []


def test_other_libraries():
    assert has("JAX", "numpy", "sin") and not has("JAX", "numpy", "lexicographic")
    assert has("autograd", "scipy.special", "betainc") and not has("autograd", "numpy.linalg", "qr")
    assert has("JAX", "scipy.stats", "norm") and not has("JAX", "scipy.stats", "skewnorm")


def test_what_needs_no_rule_exists():
    assert not [n for names in NO_RULE_NEEDED.values() for n in names.split() if not hasattr(np, n)]


def test_a_function_without_a_rule_has_none():
    assert not of_function("packbits", np.packbits).here
    assert gradient_of(lines_of(["np.sum"]), ["np.sum"]) == "yes"
    assert names("autograd")["scipy.signal"] == ["convolve"]
