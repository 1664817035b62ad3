"""Which labels are wrong, and how many: from class probabilities to a table of label issues."""
