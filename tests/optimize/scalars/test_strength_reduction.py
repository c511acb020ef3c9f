"""Powers as roots and products, and sines apart from cosines."""

from dataclasses import replace

import pytest
from treetext import block, program, text

from sdgrad.config import config
from sdgrad.optimize.scalars.strength_reduction import part_sines, take_roots


def leaf(*expressions, head="map i=0:8"):
    rows = "\n".join(f"        v_{k} = {e}" for k, e in enumerate(expressions))
    return program(f"""
    argument x: float64[8]
    argument y: float64[8]
    body
      {head}:
        u = x[{"i" if "i" in head else 0}]
{rows}
        y[0] = v_0
    """)


def lets(after):
    return [row.split(" = ")[1] for row in text(after).splitlines() if row.strip().startswith("v_")]


@pytest.mark.parametrize(
    ("power", "roots"),
    [
        ("u ** 0.5", "sqrt(u)"),
        ("u ** 1.5", "sqrt(u) * u"),
        ("u ** 2.5", "sqrt(u) * u * u"),
        ("u ** -0.5", "1 / sqrt(u)"),
        ("u ** -1.5", "1 / (sqrt(u) * u)"),
        ("2.0 * u ** 0.5", "2.0 * sqrt(u)"),
    ],
)
def test_half_powers(power, roots):
    assert lets(take_roots(leaf(power))) == [roots]


@pytest.mark.parametrize("power", ["u ** 2", "u ** 0.25", "u ** 5.5", "u ** u", "(u + 1.0) ** 0.5"])
def test_other_powers_stay(power):
    assert lets(take_roots(leaf(power))) == [power]


def test_the_largest_power_is_a_setting():
    with config.override(machine=replace(config.machine, largest_half_power=1.0)):
        assert lets(take_roots(leaf("u ** 0.5", "u ** 1.5"))) == ["sqrt(u)", "u ** 1.5"]


def test_sines_apart_from_cosines():
    assert text(part_sines(leaf("sin(u)", "cos(u)"))) == block("""
        map i=0:8:
          u = x[i]
          v_0 = sdgrad_sin(u)
          v_1 = sdgrad_cos(u)
          y[0] = v_0
    """)


@pytest.mark.parametrize("before", [leaf("sin(u)", "exp(u)"), leaf("sin(u)", "cos(u)", head="do")])
def test_one_of_them_or_one_number_stays(before):
    assert part_sines(before).body == before.body
