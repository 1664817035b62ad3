"""The paper's tables and figures: protocol, results and drawings. Run `python -m paper` from a checkout."""
