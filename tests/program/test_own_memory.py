"""Containers with memory of their own: temporary arrays of known size, no views, no arguments."""

import dace
import sympy
from dace import data as dt

from sdgrad.program.descriptors import dense
from sdgrad.program.own_memory import aligned, bytes_of, has_own_memory
from sdgrad.program.tree import Container


def test_only_temporaries_of_known_size_have_memory_of_their_own():
    n, ten = sympy.Symbol("n"), sympy.Integer(10)
    plain = Container("a", dense(dace.float32, [ten], transient=True))
    assert has_own_memory(plain)
    assert bytes_of(plain) == 40
    assert aligned(40) == 64
    assert aligned(64) == 64
    view = dt.ArrayView(dace.float32, [10], transient=True)
    stack = dt.Array(dace.float32, [10], transient=True, storage=dace.StorageType.Register)
    open_size = dense(dace.float32, [n], transient=True)
    argument = dense(dace.float32, [ten], transient=False)
    assert not any(has_own_memory(Container("b", d)) for d in (stack, open_size, argument, dt.Scalar(dace.float32)))
    assert not has_own_memory(Container("b", view, view_of="a"))
