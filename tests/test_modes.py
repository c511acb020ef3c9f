"""Every registered function has a line in the tables of modes; a part of the lines agrees in all modes.

``python -m tests.modes`` compares all lines in all forms.
"""

import dataclasses

import numpy as np
import pytest
from modes import selection
from modes.checks import Tally, findings
from modes.known import KNOWN, reason
from modes.lines import one
from modes.operands import Form
from modes.plan import LINES, packs, regular, special_points
from modes.registered import ELSEWHERE, missing, registered

import sdgrad
from sdgrad.record.functions.table import FUNCTIONS
from sdgrad.symbolic.scalar_rules import RULES

PARTS = {  # form: which lines of the tables, first and step
    Form(): (0, 60),
    Form("float64", "Fortran"): (1, 160),
    Form("float64", "strided"): (2, 160),
    Form("float64", "reversed"): (3, 160),
    Form("float64", "broadcast"): (4, 160),
    Form("float64", "0-d"): (5, 160),
    Form("float64", "one"): (6, 160),
    Form("float64", "none"): (7, 160),
    Form("float32"): (8, 160),
    Form("float16"): (9, 160),
    Form("complex128"): (10, 160),
    Form("int64"): (11, 160),
}


@pytest.fixture(autouse=True)
def never_python():
    """No comparison that could run Python's function instead."""
    with sdgrad.config.override(verify="never"):
        yield


def unknown(cells, second: bool) -> list[str]:
    """What differs between the modes of some packs, and why is not known."""
    tally = Tally()
    for pack in cells:
        findings(pack, second, tally)
    assert tally.compared or tally.found
    return [str(f) for f in tally.found if reason(f) is None]


def test_every_registered_function_has_a_line():
    assert not missing(line.text for line in LINES)
    assert set(ELSEWHERE) <= set(registered())


def test_function_without_a_line_is_found(monkeypatch):
    monkeypatch.setitem(FUNCTIONS, np.packbits, lambda x: x)
    assert missing(line.text for line in LINES) == ["np.packbits"]


@pytest.mark.parametrize("form", PARTS, ids=lambda f: f"{f.dtype} {f.layout}")
def test_modes_agree(form):
    first, step = PARTS[form]
    assert not unknown(packs(regular(LINES[first::step], form)), second=form == Form())


@pytest.mark.parametrize("twice", [False, True])
def test_modes_agree_at_special_points(twice):
    assert not unknown(special_points(LINES[2 + twice :: 40], "float64", twice), second=twice)


@pytest.mark.parametrize("way", selection.WAYS)
def test_what_is_not_selected_contributes_nothing(way):
    first = list(selection.WAYS).index(way)
    chosen, twice = packs(selection.cells(LINES[first::28], "float64", way)), way != selection.IN_DOUBT
    found = [c for pack in chosen for c in selection.contributions(pack, twice)]
    assert not found, "\n".join(map(str, found))


def test_a_contribution_is_found():
    (cell,) = selection.cells([one("np.exp(a)")], "float64", "chosen")
    cell.values["m"][:] = True
    (pack,) = packs([cell])
    assert {c.mode for c in selection.contributions(pack)} == {"reverse", "forward", "second order"}


def test_reasons_are_told():
    assert all(why for _, _, why in KNOWN)


# What is wrong is found --------------------------------------------------------------------------------


def sines() -> list:
    return list(packs(regular([one("np.sin(a)")], Form())))


def test_right_function_has_no_findings():
    assert not unknown(sines(), second=True)


def test_wrong_rule_is_found(monkeypatch):
    monkeypatch.setitem(RULES, "sin", dataclasses.replace(RULES["sin"], partials=("sin(x)",)))
    assert any("reverse and differences by a" in found for found in unknown(sines(), second=False))


def test_wrong_value_is_found():
    (pack,) = sines()
    pack.cells[0].wanted[0] += 1e-7
    assert any("compiled and NumPy" in found for found in unknown([pack], second=False))


def test_refusal_is_found():
    assert "refused: ParseError" in unknown(packs(regular([one("np.unique(a)")], Form())), second=False)[0]
