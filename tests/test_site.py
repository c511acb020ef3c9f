"""The documentation site is built without warnings, and its API page has all public names."""

import re
import subprocess
import sys
from pathlib import Path

import sdgrad

ROOT = Path(__file__).parents[1]
DIRECTIVE = re.compile(r"^\.\. auto(?:function|class|module|data):: (\S+)", re.MULTILINE)


def test_it_is_built_without_warnings(tmp_path):
    """A page that no other lists, a link without a target and a docstring that is none of Sphinx's are warnings."""
    options = ["--fail-on-warning", "--keep-going", "--quiet", "-d", str(tmp_path / "doctrees")]
    command = [sys.executable, "-m", "sphinx", *options, str(ROOT / "docs"), str(tmp_path / "site")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "value_and_grad" in (tmp_path / "site" / "api.html").read_text()


def test_dir_shows_what_is_on_the_page():
    """A name more is a promise more: it needs a place on the page, and what is on the page stays."""
    found = DIRECTIVE.findall((ROOT / "docs" / "api.md").read_text())
    assert len(found) == len(set(found))
    elsewhere = {"DifferentiationError", "SdgradError", "Module", "module"}  # with errors, and with PyTorch
    rooms = {"errors", "onnx", "random", "testing", "torch"}
    shown = {n for n in dir(sdgrad) if not n.startswith("_")}
    assert shown == {n for n in found if "." not in n} | elsewhere | rooms
