"""What surecut raises when the fault lies in what it was given."""

from collections.abc import Sequence


class InputError(ValueError):
    """One sentence to the person who made the input: what was found, where, what to do.

    `commands` do it: they follow on lines of their own, to be pasted.
    """

    def __init__(self, sentence: str, commands: Sequence[str] = ()) -> None:
        super().__init__("\n  ".join((sentence, *commands)))
        self.sentence, self.commands = sentence, tuple(commands)


class EvaluatorsDisagree(RuntimeError):
    """surecut's kernels and the independent evaluator gave different values for the same list."""
