"""The thresholds: documented, replaceable, and followed by what is differentiated afterwards."""

import ast
import dataclasses
import inspect
from pathlib import Path

import numpy as np
import pytest

import sdgrad
from sdgrad.config import ConfigError, config
from sdgrad.convert.callables import bind_arguments
from sdgrad.machine import Machine, free_memory, model, rates
from sdgrad.optimize import optimize
from sdgrad.program.tree import NodeCall, walk


def test_every_threshold_says_what_it_is():
    """A string follows each field."""
    body = next(n for n in ast.parse(inspect.getsource(model)).body if isinstance(n, ast.ClassDef)).body
    fields = [k for k, n in enumerate(body) if isinstance(n, ast.AnnAssign)]
    assert len(fields) == len(dataclasses.fields(Machine))
    assert all(isinstance(body[k + 1], ast.Expr) and len(body[k + 1].value.value) > 20 for k in fields)


def test_every_threshold_is_used():
    """By a module of the engine."""
    package = "\n".join(p.read_text() for p in Path(sdgrad.__file__).parent.rglob("*.py"))
    assert not [f.name for f in dataclasses.fields(Machine) if f"config.machine.{f.name}" not in package]


def test_what_is_printed_is_what_differs():
    assert repr(Machine()) == "Machine()"
    assert repr(dataclasses.replace(Machine(), triangle_rows=3)) == "Machine(triangle_rows=3)"


def test_equal_machines_have_one_hash():
    assert hash(Machine(triangle_rows=3)) == hash(Machine(triangle_rows=3))
    assert Machine(triangle_rows=3) != Machine()


def test_only_a_machine_is_taken():
    before = config.machine
    with pytest.raises(ConfigError, match=r"dataclasses\.replace"):
        config.machine = {"triangle_rows": 3}
    assert config.machine is before


def product(A, B):
    return np.sum(np.sin(A @ B))


def calls():
    """Library calls in the gradient of a small product."""
    args = np.ones((5, 6)), np.ones((6, 4))
    function = sdgrad.value_and_grad(product, wrt=("A", "B"))
    signature, _, _, request = function.question(bind_arguments(product, args, {}))
    return [n for n in walk(optimize(signature.differentiated(request).program).body) if isinstance(n, NodeCall)]


def test_programs_follow_the_machine():
    assert not calls()
    with config.override(machine=dataclasses.replace(config.machine, blas_multiplications=0)):
        assert len(calls()) == 3
    assert not calls()


def test_free_memory(tmp_path, monkeypatch):
    """As Linux says it: the less of the machine's and of the control group's; half of the memory where nobody says."""
    assert 0 < free_memory.free_memory() < 2**50
    system = tmp_path / "meminfo"
    system.write_text("MemTotal:  9000 kB\nMemAvailable:  4000 kB\n")
    monkeypatch.setattr(free_memory, "SYSTEM", system)
    monkeypatch.setattr(free_memory, "GROUP", tmp_path)
    assert free_memory.free_memory() == 4000 * 1024
    for most, expected in (("max", 4000 * 1024), ("3000000", 2_000_000), ("900000", 0), ("1" + "0" * 12, 4000 * 1024)):
        (tmp_path / "memory.max").write_text(most + "\n")
        (tmp_path / "memory.current").write_text("1000000\n")
        assert free_memory.free_memory() == expected
    system.unlink()
    (tmp_path / "memory.max").unlink()
    assert free_memory.free_memory() > 2**20


def test_rates_are_measured_once(tmp_path):
    found = rates.measured(tmp_path)
    assert set(found) == set(rates.RATES) and list(tmp_path.iterdir()) == []
    assert 1e8 < found["bytes_per_second"] < 1e12 and 1e7 < found["disk_bytes_per_second"] < 1e12
    assert 1e8 < found["instructions_per_second"] < 1e12 and 1e9 < found["flops_per_second"] < 1e14
    assert 1e-8 < found["seconds_per_call"] < 1e-4
    assert rates.of_this_machine(tmp_path) == Machine()
    rates.keep(found, tmp_path)
    machine = rates.of_this_machine(tmp_path)
    assert {n: getattr(machine, n) for n in rates.RATES} == found
    assert "disk_bytes_per_second" not in rates.measured(tmp_path / "missing")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"bytes_per_second": "fast"}', '{"bytes_per_second": -1, "x": 2}'])
def test_files_that_say_nothing(tmp_path, text):
    (tmp_path / rates.FILE).write_text(text)
    assert rates.of_this_machine(tmp_path) == Machine()
