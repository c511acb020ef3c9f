"""Settings are checked, can come from the environment, and reach DaCe."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from dace.config import Config as DaceConfig
from dace.libraries.blas.nodes.gemm import Gemm

from sdgrad.config import Config, ConfigError, config, device, on_device
from sdgrad.machine.processor import processor
from sdgrad.program.implementations import IMPLEMENTATIONS
from sdgrad.runtime.libraries import blas


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("blas", "opneblas", "'openblas', 'mkl', 'none', not 'opneblas'; did you mean 'openblas'"),
        ("blas", 3, "not 3"),
        ("optimization_level", 4, "0, 1, 2 or 3, not 4"),
        ("optimization_level", True, "not True"),
        ("debug", "maybe", "not 'maybe'"),
        ("cache_dir", 3, "a path or None"),
        ("cache_dir", __file__, "is a file"),
        ("without", "blas-calls,row-fuse", "no pass 'row-fuse'; did you mean 'row-fusion'"),
        ("eigenvalue_broadening", -1.0, "not negative, not -1.0"),
        ("eigenvalue_broadening", "much", "not negative, not 'much'"),
        ("machine", 3, "a sdgrad.machine.Machine, not 3"),
        ("optimisation_level", 1, "did you mean 'optimization_level'"),
    ],
)
def test_a_wrong_setting_is_refused_and_changes_nothing(name, value, message):
    before = repr(config)
    with pytest.raises(ConfigError, match=message):
        setattr(config, name, value)
    with pytest.raises(ConfigError, match=message), config.override(**{"blas": "none", name: value}):
        pass
    assert repr(config) == before
    assert IMPLEMENTATIONS[Gemm] == blas.IMPLEMENTATION


def test_settings_come_from_the_environment():
    shown = "config.debug, config.optimization_level, config.cache_root"
    program = f"from sdgrad.config import config; print({shown})"
    environment = {
        "SDGRAD_DEBUG": "yes",
        "SDGRAD_OPTIMIZATION_LEVEL": "1",
        "SDGRAD_CACHE_DIR": "/tmp/some where",
    }
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"HOME": "/tmp", "PYTHONPATH": str(Path(__file__).parent.parent), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n")[0] == "True 1 /tmp/some where"


def test_a_wrong_variable_is_named():
    with pytest.raises(ConfigError, match="SDGRAD_OPTIMIZATION_LEVEL: optimization_level is 0, 1, 2 or 3, not 'fast'"):
        Config.from_environment({"SDGRAD_OPTIMIZATION_LEVEL": "fast"})
    with pytest.warns(UserWarning, match="SDGRAD_BLSA sets nothing; did you mean 'SDGRAD_BLAS'"):
        Config.from_environment({"SDGRAD_BLSA": "none"})


def test_override_ends_with_its_block():
    with pytest.raises(RuntimeError), config.override(blas="none", debug=True):
        assert (config.debug, IMPLEMENTATIONS[Gemm]) == (True, None)
        raise RuntimeError
    assert (config.debug, IMPLEMENTATIONS[Gemm]) == (False, blas.IMPLEMENTATION)


def test_the_cache_folder_follows_the_user(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert Config().cache_root == tmp_path / "sdgrad"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Config().cache_root == tmp_path / ".cache" / "sdgrad"
    with config.override(cache_dir="~/here"):
        assert config.cache_root == tmp_path / "here"
        assert config.cache_folder == tmp_path / "here" / processor()


def test_a_user_without_a_home_has_a_cache_folder(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def none():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", none)
    assert Config().cache_root == Path("/.cache/sdgrad")


def test_compiling_sets_what_dace_reads_and_puts_it_back(tmp_path):
    before = DaceConfig.get("compiler", "build_type"), DaceConfig.get("default_build_folder")
    with config.override(optimization_level=1, cache_dir=tmp_path), config.compiling():
        assert DaceConfig.get("compiler", "cpu", "args").endswith("-O1 -DNDEBUG")
        assert DaceConfig.get("compiler", "build_type") == "None"
        assert DaceConfig.get("default_build_folder") == str(config.cache_folder)
    with config.override(debug=True), config.compiling():
        assert DaceConfig.get("compiler", "cpu", "args").endswith("-O3 -g")
    with config.override(optimization_level=3, debug=False), config.compiling():
        assert DaceConfig.get("compiler", "build_type") == "Release"
    assert (DaceConfig.get("compiler", "build_type"), DaceConfig.get("default_build_folder")) == before


def test_the_device_of_a_thread_is_its_own():
    found = []
    with on_device("gpu"):
        thread = threading.Thread(target=lambda: found.append(device()))
        thread.start()
        thread.join()
        found.append(device())
        with on_device("cpu"), on_device(None):
            found.append(device())
    assert [*found, device()] == ["cpu", "gpu", "cpu", "cpu"]
    with pytest.raises(ConfigError, match="device is one of 'cpu', 'gpu', not 'npu'"), on_device("npu"):
        pass
    with config.override(device="gpu"), on_device(None):
        assert device() == "gpu"
