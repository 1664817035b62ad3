"""Find label errors: train, calibrate, estimate the noise rate, and flag the worst labels."""
