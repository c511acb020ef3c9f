"""Order loops and lay out arrays for caches and threads."""
