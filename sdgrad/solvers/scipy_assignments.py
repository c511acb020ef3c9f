"""Apply assignments of ``scipy.optimize``: SciPy finds the pairs when a program runs, and they are constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize as optimize

from sdgrad.record.callbacks import pure_callback
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.table import active, array, rule


@rule(optimize.linear_sum_assignment)
def linear_sum_assignment(cost_matrix: Any, maximize: bool = False) -> Any:
    cost = array(cost_matrix)
    if cost.ndim != 2:
        raise ValueError(f"expected a matrix (2-D array), got a {cost.ndim} array")
    pairs = np.zeros(min(cost.shape), np.int64)
    call = pure_callback(optimize.linear_sum_assignment, (pairs, pairs))
    return call.record_call(active(), (detached(cost), bool(maximize)), {})
