"""sdgrad: symbolic differentiation of dataflow graphs."""
import sdgrad.backward_impls.fft
import sdgrad.backward_impls.linalg  # noqa: F401
from sdgrad import errors, testing
from sdgrad.api import grad, value_and_grad, vjp
from sdgrad.config import config
from sdgrad.errors import DifferentiationError, SdgradError
from sdgrad.graph_api import add_backward_pass

__version__ = "0.1.0"

__all__ = ["DifferentiationError", "SdgradError", "add_backward_pass", "config", "errors", "grad", "testing",
           "value_and_grad", "vjp"]
