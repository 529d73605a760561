"""What surecut raises when the fault lies in what it was given."""


class InputError(ValueError):
    """One sentence to the person who made the input: what was found, where, what to do."""


class EvaluatorsDisagree(RuntimeError):
    """surecut's kernels and the independent evaluator gave different values for the same list."""
