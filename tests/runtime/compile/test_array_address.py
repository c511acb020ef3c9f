"""Addresses of arrays, as NumPy itself tells them."""

import numpy as np
import pytest

from sdgrad.runtime.compile.array_address import _from_interface, address

BASE = np.arange(24.0)
READ_ONLY = BASE.copy()
READ_ONLY.flags.writeable = False
ARRAYS = [BASE, BASE[5:], BASE.reshape(4, 6)[2:], BASE[:0], np.array(3.0), READ_ONLY, np.ones((2, 3), np.complex64)]


@pytest.mark.parametrize("array", ARRAYS, ids=range(len(ARRAYS)))
def test_address(array):
    assert address(array).value == _from_interface(array).value == array.ctypes.data
