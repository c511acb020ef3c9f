"""Backward implementations: how each kind of node is reversed. Importing the package registers the built-in ones."""
