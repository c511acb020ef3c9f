"""Rewrite scalar arithmetic."""
