"""Minimum vertex cuts of dataflow graphs."""

import pytest

from sdgrad.tape.min_cut import cheapest_cut


def cut(uses: dict[str, str], needed: str, prices: dict[str, int | None] | None = None) -> str:
    """Names are letters; each costs one, if there is no other price."""
    found = cheapest_cut({n: set(used) for n, used in uses.items()}, set(needed), lambda n: (prices or {}).get(n, 1))
    return "".join(sorted(found))


SUM = {"a": "", "b": "", "c": "ab", "d": "c"}


@pytest.mark.parametrize(
    "needed, prices, found",
    [
        ("", None, ""),
        ("a", None, "a"),
        ("ab", None, "ab"),
        ("d", {"c": 1, "d": 2}, "c"),  # one sum instead of two operands
        ("d", {"c": 3, "d": 3}, "ab"),  # unless it is dearer
        ("d", {"c": None, "d": None}, "ab"),  # or cannot be kept
        ("ad", {"d": 2, "c": 2}, "ab"),
    ],
)
def test_cut(needed, prices, found):
    assert cut(SUM, needed, prices) == found
