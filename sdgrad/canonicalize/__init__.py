"""Rewrite a lifted program into the normal form that is differentiated."""
