"""Differentiate program trees in reverse mode (:mod:`.reverse`) and in forward mode (:mod:`.forward`)."""
