"""Algorithm 1 over K runs at once."""
