"""Every script in ``examples`` and its gallery runs: they hold their own assertions. (``make demo`` runs the demo.)"""

import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(p for p in (*FOLDER.glob("*.py"), *FOLDER.glob("gallery/*.py")) if p.stem != "demo")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example(path, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", [str(path), str(tmp_path / "picture.png")])
    runpy.run_path(str(path), run_name="__main__")
