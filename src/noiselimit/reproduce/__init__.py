"""The paper's tables and figures, run anew: what they consist of, what was measured, what is left to do."""
