"""The annotations of public functions are true: a typed user's file runs. ``make lint`` runs mypy on it, strictly."""

import configparser
import importlib
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILE = ROOT / "tests" / "typed" / "user_file.py"
STRICT = (
    *("disallow_any_generics", "disallow_subclassing_any", "disallow_untyped_calls", "disallow_untyped_defs"),
    *("disallow_incomplete_defs", "check_untyped_defs", "disallow_untyped_decorators", "warn_return_any"),
    *("strict_equality", "extra_checks"),
)
"""What ``mypy --strict`` says of a module."""


def test_a_typed_file_runs(tmp_path):
    importlib.import_module("typed.user_file").main(tmp_path)


def test_mypy_is_strict_on_it():
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    assert FILE.parent.relative_to(ROOT).as_posix() in settings["mypy"]["files"]
    own = settings[f"mypy-{FILE.stem}"]
    assert all(own.getboolean(name) for name in STRICT)
    assert not settings["mypy-sdgrad"].getboolean("implicit_reexport")
