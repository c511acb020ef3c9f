"""Sparse derivatives: their pattern, groups of columns or rows that can share a direction, and their entries."""
