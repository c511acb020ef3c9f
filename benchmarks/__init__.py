"""Measurements of sdgrad beside JAX, ``dace.autodiff`` and PyTorch: ``python -m benchmarks.run --help``."""
