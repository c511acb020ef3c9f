"""Checks of gradients against references that share no code with the engine. The tests of sdgrad use these.

- :func:`check_grads` compares with differences of the function, run as plain Python.
- :func:`dot_product_test` checks that reverse and forward mode are each other's transpose.
- :func:`taylor_test` checks that what a gradient leaves unexplained shrinks with the square of the step.

Conventions. With cotangents ``v`` of the outputs ``y``, the scalar being differentiated is ``L =
Re(sum(conj(v) * y))``, and the gradient ``g`` of an input ``x`` is the array for which ``dL = Re(sum(conj(g)
* dx))``. For real numbers this is the usual gradient, for complex ones PyTorch's.

The reference is the derivative of ``t -> L(x + t * u)`` at zero. Where the function takes complex numbers and
is analytic, that is the complex step ``Im L(x + i h u) / h``, exact to rounding (Martins, Sturdza & Alonso, ACM
TOMS 29, 2003). It is believed only where it agrees with the other way, central differences extrapolated to step
zero, which estimate their own error (Ridders, Advances in Engineering Software 4, 1982).
"""

from sdgrad.testing._checks import TOLERANCES, check_grads
from sdgrad.testing._identities import DotProduct, Taylor, dot_product_test, taylor_test
from sdgrad.testing._report import ArgumentReport, Comparison, GradientCheckError, GradientReport

__all__ = [
    "TOLERANCES",
    "ArgumentReport",
    "Comparison",
    "DotProduct",
    "GradientCheckError",
    "GradientReport",
    "Taylor",
    "check_grads",
    "dot_product_test",
    "taylor_test",
]
