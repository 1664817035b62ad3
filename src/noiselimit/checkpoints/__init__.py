"""States of runs that still train, on disk: what an interrupted training goes on from."""
