"""Sparsity patterns of Jacobians, and their colouring."""
