"""Call compiled programs: arguments, workspace, results."""
