"""Remove and forward stores, copies and broadcasts."""
