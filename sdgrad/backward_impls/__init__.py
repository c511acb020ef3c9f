"""Backward implementations of library nodes; importing the package registers the built-in ones."""
