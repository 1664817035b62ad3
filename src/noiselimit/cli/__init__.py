"""The command line: a flat map from commands to functions."""
