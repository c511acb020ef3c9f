"""Initial value problems: integrated with adaptive steps, each integration one node with its derivative."""
