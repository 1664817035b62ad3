"""Self-contained HTML pages about runs and audits."""
