"""Give every reduction an order, and the cheapest form."""
