"""Call compiled programs: convert arguments, keep workspace, pool results."""
