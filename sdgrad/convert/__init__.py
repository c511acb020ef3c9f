"""Convert the source of Python functions, so that operators meet what a recorder has to see."""
