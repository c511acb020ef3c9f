"""The objects of Fourier transforms: one for each type of numbers and each setting, compiled once."""

import pytest

import sdgrad
from sdgrad.runtime.compile import native_object, pocketfft
from sdgrad.runtime.compile.pocketfft import FourierObject


def test_objects_are_compiled_once(tmp_path, monkeypatch):
    seen = []

    def run(command, what):
        seen.append(command)
        open(command[-1], "w").close()

    monkeypatch.setattr(native_object, "run", run)
    with sdgrad.config.override(cache_dir=str(tmp_path)):
        paths = [FourierObject.of("double", with_real=True).make() for _ in range(2)]
    assert paths[0] == paths[1] and paths[0].is_file() and paths[0].parent.is_relative_to(tmp_path)
    (command,) = seen
    assert {"-DREAL=double", "-DWITH_REAL", "-c"} <= set(command)


def test_objects_differ_by_type_and_by_optimization():
    found = {FourierObject.of(real, with_real).target for real in ("float", "double") for with_real in (False, True)}
    with sdgrad.config.override(optimization_level=2):
        found.add(FourierObject.of("double", with_real=True).target)
    assert len(found) == 5


def test_a_missing_wheel_is_named(monkeypatch):
    monkeypatch.setattr(pocketfft, "WHEEL", "no-such-package")
    with pytest.raises(ImportError, match="Fourier transforms need the package no-such-package"):
        pocketfft.header_path.__wrapped__()
