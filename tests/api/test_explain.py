"""The explanation says what was decided: checked against the plan, and against programs whose answer is known."""

from html.parser import HTMLParser

import numpy as np
import pytest

import sdgrad
from sdgrad.api.explain_statements import AGAIN, FREE, STORED, UNDONE
from sdgrad.errors import NotScalarError

X = np.linspace(0.1, 1.0, 6)


def free(x):
    y = np.sin(x)
    return np.sum(y * y)


def overwritten(x):
    h = x * 1.0
    for _ in range(5):
        h[1:-1] = np.sin(h[1:-1])
    if np.sum(h) > 0.0:
        h = h * h
    return np.sum(h)


def until(x):
    while np.sum(x) > 1.0:
        x = x * x
    return np.sum(x)


def hows(explanation):
    return {v.how for s in explanation.statements for v in s.values}


def test_what_is_still_there_costs_nothing():
    found = sdgrad.explain(free, X)
    assert hows(found) <= {FREE, AGAIN} and found.tape == () and found.bytes_kept == 0
    assert "np.sin(x)" in {s.line.partition(" = ")[2] for s in found.statements}
    assert "the tape takes 0 bytes" in str(found)


def test_what_is_overwritten_is_kept():
    """Five trips, four elements a trip: in bytes, as a number and as a formula."""
    found = sdgrad.explain(overwritten, X)
    assert hows(found) & {STORED, UNDONE}
    sizes = {v.formula: v.size for v in found.tape}
    assert sizes == {"5 * 4 * 8 bytes": 160} and found.bytes_kept == 160
    loop = next(s for s in found.statements if s.primal[0].startswith("loop"))
    assert "backwards" in loop.schedule


def test_trips_that_are_counted():
    with sdgrad.config.override(without=("checkpoints",)):
        text = str(sdgrad.explain(until, X))
    assert "how many trips there are: computed again" in text and "a size known at run time" in text


def test_statements_without_a_derivative():
    found = sdgrad.explain(overwritten, X)
    assert any(not s.active for s in found.statements) and "no derivative passes" in str(found)


class Page(HTMLParser):
    """Checks that tags close, and that nothing comes from outside."""

    def __init__(self):
        super().__init__()
        self.open, self.cells = [], 0

    def handle_starttag(self, tag, attributes):
        assert not {"src", "href"} & {name for name, _ in attributes}
        self.cells += tag == "td"
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_page(tmp_path):
    found = sdgrad.explain(overwritten, X)
    text = found.to_html(tmp_path / "page.html").read_text()
    page = Page()
    page.feed(text)
    assert page.open == [] and page.cells == 2 * len(found.statements)
    assert "http" not in text and "h[1:-1] = np.sin(h[1:-1])" in text and "&gt;" in text


def test_refused_as_a_gradient_is():
    with pytest.raises(NotScalarError):
        sdgrad.explain(np_sin, X)


def np_sin(x):
    return np.sin(x)


def test_what_grad_has_returned():
    """It is explained with its own arguments."""
    x, y = np.ones(3), np.ones(3)

    def product(x, y):
        return np.sum(np.sin(x) * y)

    found = str(sdgrad.explain(sdgrad.grad(product, "y"), x, y))
    assert found == str(sdgrad.explain(product, x, y, wrt="y"))
    assert "gradient of product by y" in found


def stepped(u, w):
    for _ in range(50):
        u[1:-1] = np.sin(u[:-2] * u[2:])
    return np.sum((w @ u) ** 2)


def test_the_summary_says_what_the_whole_costs():
    """By a program whose loop takes most of the time, and whose product with a matrix is a call."""
    u = np.linspace(0.1, 1.0, 2000)
    summary = sdgrad.explain(stepped, u, np.ones((300, 2000)), wrt=("u", "w")).summary
    assert 1e-4 < summary.seconds < 1.0
    assert sum(summary.calls.values()) >= 2 and summary.slowest.what == "a loop, one trip after another"
    text = "\n".join(summary.lines())
    assert "for _ in range(50):" in text and "by estimate" in text and "nests: " in text


def test_an_adjoint_is_written_once():
    """Two statements of one line share it."""
    text = str(sdgrad.explain(stepped, np.ones(6), np.ones((2, 6))))
    (adjoint,) = {
        s.adjoint for s in sdgrad.explain(stepped, np.ones(6), np.ones((2, 6))).statements if "cos" in str(s.adjoint)
    }
    assert text.count("\n".join(f"    {line}" for line in adjoint)) == 1
