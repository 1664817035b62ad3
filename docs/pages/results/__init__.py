"""docs/results.md and docs/results-details.md: the paper's tables and figures, measured anew."""
