"""docs/audit.md: who finds wrong labels, and at what cost."""
