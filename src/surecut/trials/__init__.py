"""Coverage trials: every method on the same repeated splits, as in the paper, and against the truth."""
