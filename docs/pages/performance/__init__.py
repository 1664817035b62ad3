"""docs/performance.md: how fast training is, and why."""
