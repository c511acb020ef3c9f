"""Read Python functions through DaCe's parser."""
