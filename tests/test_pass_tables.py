"""The tables of passes: their order, their phases, and the lists in ``docs/architecture.md`` that are made of them.

``python tests/test_pass_tables.py`` writes the lists; a test compares.
"""

from pathlib import Path

import pytest

from sdgrad.canonicalize.normal_form import AGAIN, LIFTED, NORMAL_FORM
from sdgrad.optimize.passes import PASSES
from sdgrad.pipeline import SWITCHES
from sdgrad.program.passes import Pass, Phase, Target, described, run_passes, switches

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
TABLES = {"LIFTED": LIFTED, "NORMAL_FORM": NORMAL_FORM, "AGAIN": AGAIN, "PASSES": PASSES}
ON_THE_PAGE = {"NORMAL_FORM": LIFTED + NORMAL_FORM, "PASSES": PASSES}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_phases_go_up(table):
    assert [p.phase for p in table] == sorted(p.phase for p in table)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_passes_come_after_what_they_need(table, device):
    """What ``after`` names comes before, wherever both run."""
    names = [p.name for p in table]
    for k, step in enumerate(table):
        for earlier in step.after:
            if device in step.on and any(p.name == earlier and device in p.on for p in table):
                assert earlier in names[:k], f"{step.name} comes before {earlier}"


def test_after_names_passes():
    known = {p.name for table in TABLES.values() for p in table}
    assert {name for table in TABLES.values() for p in table for name in p.after} <= known


def test_every_optional_pass_is_a_switch():
    """Only what generated code needs to be right is no switch."""
    assert set(switches(PASSES)) | set(switches(NORMAL_FORM)) | {"checkpoints", "simd-reductions"} == set(SWITCHES)


def test_scheduled_passes_follow_the_scheduler():
    first = next(k for k, p in enumerate(PASSES) if p.phase >= Phase.SCHEDULED)
    assert PASSES[first].name == "reduction-schedule"


def recorded(name, log, **options):
    def run(program, target):
        log.append(name)
        return program

    return Pass(name, run, Phase.UNORDERED, "", **options)


def test_what_runs():
    """Rows are read top down, for the device and the target, without what is switched off."""
    log = []
    table = (
        recorded("a", log),
        recorded("b", log, on=frozenset({"gpu"})),
        recorded("c", log, when=lambda target: target.python),
        recorded("d", log),
        recorded("e", log, optional=False),
    )
    run_passes(None, table, Target(), without=("d", "e"))
    assert log == ["a", "e"]
    log.clear()
    run_passes(None, table, Target("gpu", python=True))
    assert log == ["a", "b", "c", "d", "e"]


def written(page: str) -> str:
    """The page with its lists made of the tables."""
    for name, table in ON_THE_PAGE.items():
        before, begin, rest = page.partition(f"<!-- passes of {name} -->\n")
        _, end, after = rest.partition(f"\n<!-- end of {name} -->")
        assert begin and end, name
        page = before + begin + described(table) + end + after
    return page


def test_the_page_lists_the_tables():
    page = PAGE.read_text()
    assert page == written(page), "python tests/test_pass_tables.py writes the lists"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
