"""``stop_gradient``: a value taken as a constant."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def stop_gradient(x: T) -> T:
    """``x`` itself, through which no derivative passes, in either mode and at any order.

    In a function that is differentiated it is a value of its own: writing it does not change ``x``. Outside of one it
    returns ``x``. :func:`detach` is the same under PyTorch's name.
    """
    return x


detach = stop_gradient
