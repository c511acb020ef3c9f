"""Compile one function for one set of shapes and types."""
